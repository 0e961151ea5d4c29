"""Secrets: what is never sent to a model and never merged. What identifies a thing (a UUID, a commit) is no secret."""

import math
import re
from collections import Counter
from collections.abc import Callable, Iterator

_TOKENS = {
    "AWS key": r"\b(?:AKIA|ASIA|ABIA|ACCA|AGPA|AIDA|AROA|ANPA)[0-9A-Z]{16}\b",
    "GitHub token": r"\b(?:gh[pousr]_[A-Za-z0-9]{36,}|github_pat_[A-Za-z0-9_]{22,})",
    "GitLab token": r"\bgl(?:pat|dt|ft|soat|rt|cbt|ptt|imt|agent|oas|feat|ffct)-[A-Za-z0-9_-]{16,}",
    "Slack token": r"\bxox[abeoprs](?:\.xox[a-z])?-[A-Za-z0-9-]{10,}"
    r"|hooks\.slack\.com/(?:services|workflows)/[A-Za-z0-9/+_-]{16,}",
    "Stripe key": r"\b(?:sk|rk|whsec)_(?:live|test|prod)_[A-Za-z0-9]{10,}|\bwhsec_[A-Za-z0-9+/=]{24,}",
    "Anthropic key": r"\bsk-ant-[A-Za-z0-9_-]{16,}",
    "OpenAI key": r"\bsk-(?:proj|svcacct|admin|None)-[A-Za-z0-9_-]{16,}|\bsk-[A-Za-z0-9]{32,}\b",
    "OpenRouter key": r"\bsk-or-(?:v1-)?[A-Za-z0-9-]{16,}",
    "Google key": r"\bAIza[0-9A-Za-z_-]{35}(?![\w-])|\bGOCSPX-[A-Za-z0-9_-]{20,}|\bya29\.[A-Za-z0-9_-]{20,}",
    "Hugging Face token": r"\b(?:hf|api_org)_[A-Za-z]{30,}\b",
    "npm token": r"\bnpm_[A-Za-z0-9]{36}\b|_authToken=\S{8,}",
    "PyPI token": r"\bpypi-[A-Za-z0-9_-]{32,}",
    "SendGrid key": r"\bSG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}",
    "Mailchimp key": r"\b[0-9a-f]{32}-us[0-9]{1,2}\b",
    "Twilio key": r"\b(?:SK|AC)[0-9a-f]{32}\b",
    "Telegram token": r"\b[0-9]{8,10}:[A-Za-z0-9_-]{35}(?![\w-])",
    "Discord token": r"\b[MNO][A-Za-z0-9_-]{23,28}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,}"
    r"|discord(?:app)?\.com/api/webhooks/[0-9]+/\S{20,}",
    "Azure key": r"\b(?:AccountKey|SharedAccessKey)=[A-Za-z0-9+/=]{20,}|[?&]sig=[A-Za-z0-9%+/=]{30,}",
    "DigitalOcean token": r"\bdo[opr]_v1_[0-9a-f]{32,}",
    "Shopify token": r"\bshp(?:at|ca|pa|ss)_[0-9a-fA-F]{32}\b",
    "Square token": r"\b(?:sq0[a-z]{3}-[A-Za-z0-9_-]{22,43}|EAAA[A-Za-z0-9_-]{60})",
    "Groq key": r"\bgsk_[A-Za-z0-9]{32,}",
    "xAI key": r"\bxai-[A-Za-z0-9]{32,}",
    "Databricks token": r"\bdapi[0-9a-f]{32}\b",
    "Notion token": r"\b(?:ntn_|secret_)[A-Za-z0-9]{40,}\b",
    "Linear key": r"\blin_(?:api|oauth)_[A-Za-z0-9]{32,}",
    "Vault token": r"\bhv[sbr]\.[A-Za-z0-9_-]{20,}",
    "age key": r"\bAGE-SECRET-KEY-1[0-9A-Z]{50,}",
    "JSON web token": r"\beyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]*)?",
    "private key": r"-----BEGIN (?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?-----|PuTTY-User-Key-File-[23]",
    "password in a URL": r"\b[a-z][a-z0-9+.-]{0,30}://[^\s/:@'\"<>]{0,200}:(?!//)[^\s/:@'\"<>$\{]{2,200}@[\w.-]+",
    "authorization header": r"\b(?:Authorization|Proxy-Authorization)\s*[:=]\s*[\"']?"
    r"(?:Bearer|Basic|Token)\s+[A-Za-z0-9._~+/=-]{8,}"
    r"|\bBearer\s+(?=\S*[0-9])[A-Za-z0-9._~+/=-]{20,}",
}
_NAMES = {f"k{i}": name for i, name in enumerate(_TOKENS)}
_TOKEN = re.compile("|".join(f"(?P<{key}>{_TOKENS[name]})" for key, name in _NAMES.items()))
# Cheap to look for, and part of every token above.
_HINT = re.compile(
    r"A[KSBCGIRN][A-Z]{2}[0-9A-Z]|gh[pousr]_|github_pat|gl[a-z]+-|xox|slack\.com|[sr]k_|whsec_|sk-|AIza|GOCSPX|ya29|hf_"
    r"|api_org|npm_|_authToken|pypi-|SG\.|-us[0-9]|SK[0-9a-f]|AC[0-9a-f]|[0-9]:[A-Za-z0-9_-]{20}|[MNO][\w-]{23}|discord"
    r"|Key=|sig=|do[opr]_v|shp[a-z]{2}_|sq0|EAAA|gsk_|xai-|dapi|ntn_|secret_|lin_|hv[sbr]\.|AGE-|eyJ|PRIVATE|PuTTY|://"
    r"|uthorization|Bearer"
)

_WORDS = (
    r"pass(?:word|wd|phrase|code)?|pwd|pw|secret|token|api[ _-]?key|access[ _-]?key|secret[ _-]?key|private[ _-]?key"
    r"|auth[ _-]?key|client[ _-]?secret|credentials?|salasana|passwort|kennwort|contraseña|mot de passe|parola|senha"
    r"|密码|密碼"
    r"|パスワード|비밀번호|пароль|pin(?:[ -]?code| number)?|cvv|cvc"
)
_KEYWORD = re.compile(rf"(?<![a-zA-Z])(?P<word>{_WORDS})s?(?![a-zA-Z])", re.IGNORECASE)
_VALUE = r"(?P<value>\"[^\"\n]+\"|'[^'\n]+'|`[^`\n]+`|\S+)"
_ASSIGNED = re.compile(rf"[\"'`]?\s*(?P<by>:=|=>|[:=：]|(?=\s[\"'`]))\s*{_VALUE}")
_TOLD = re.compile(
    r"(?:\s+(?:for|to|of|on|at|in)\s+[^.,;:\n]{1,40}?)?\s*(?P<by>(?<=\s)(?:is|are|was|ist|lautet|es|est|on|to)(?=:?\s)|是|为|為|は|은|는)\s*:?\s*"
    rf"(?:now\s+|set to\s+|still\s+)?{_VALUE}"
)
_LAST = re.compile(r"[.!\s]*(?:$|\n)")
_RANDOM = re.compile(r"(?<![\w/.@-])[A-Za-z0-9+/_=-]{16,}(?![\w@-])")
_NEAR = 60  # characters between a word like `token` and what looks random
_UUID = re.compile(r"[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}")
_CARD = re.compile(
    r"(?<![\w.-])[2-6][0-9]{3}(?:[ -]?[0-9]{4}){2}[ -]?[0-9]{1,7}(?![\w-])"
    r"|(?<![\w.-])3[47][0-9]{2}[ -]?[0-9]{6}[ -]?[0-9]{5}(?![\w-])"
)
# What issuers of cards give out: other long numbers end in a good check digit too, one in ten by chance.
_ISSUED = re.compile(
    r"4(?:\d{12}|\d{15})|5[1-5]\d{14}|2(?:22[1-9]|2[3-9]\d|[3-6]\d\d|7[01]\d|720)\d{12}|3[47]\d{13}"
    r"|3(?:0[0-5]|[689]\d)\d{11}|35(?:2[89]|[3-8]\d)\d{12}|6(?:011|4[4-9]\d|5\d\d)\d{12}|62\d{14,17}",
    re.ASCII,
)
_IBAN = re.compile(r"\b[A-Z]{2}[0-9]{2}(?: ?[A-Z0-9]{4}){3,7}(?: ?[A-Z0-9]{1,3})?\b")
_PLACEHOLDER = re.compile(
    r"[*x.…•_\-#?]+|<.*|\$\{?\w.*|\{\{?.*|%\w+%?|(?:your|my|the|some|an?|changed|expired|none|null|true|false|unknown|required|safe|secure"
    r"|here|there|stored|kept|set|wrong|correct|invalid|strong|weak|hidden|secret|lost|forgotten|in|not|for|to|that|this|it|with|from|optional|reset|ok)",
    re.IGNORECASE,
)


def find_secrets(content: str) -> tuple[str, ...]:
    """
    The kinds of secrets in a text, each once, in the order of the alphabet; empty for a text that may be sent.

    Keys and tokens of known form, private keys, passwords in addresses and after words like `password`, random strings
    near words like `token`, numbers of payment cards and bank accounts. A UUID, a hash of a commit and plain words are
    none.
    """
    return tuple(sorted({kind for search in _SEARCHES for kind in search(content)}))


def _tokens(content: str) -> Iterator[str]:
    if _HINT.search(content):
        for match in _TOKEN.finditer(content):
            yield _NAMES[match.lastgroup or ""]


def _passwords(content: str) -> Iterator[str]:
    for match in _KEYWORD.finditer(content):
        said = _ASSIGNED.match(content, match.end()) or _TOLD.match(content, match.end())
        if said is not None and _is_password(said, match["word"].lower()):
            yield "password or key"
        for other in _RANDOM.finditer(content, max(0, match.start() - _NEAR), match.end() + _NEAR):
            if _is_random(other[0]):
                yield "random string beside a word for a secret"


def _is_password(said: re.Match[str], word: str) -> bool:
    """Whether what follows a word for a secret can be one: quoted, no plain word, or one that ends the line."""
    value = said["value"]
    quoted = value[:1] in "\"'`" and value[:1] == value[-1:]
    bare = value.strip("\"'`").rstrip(".,;:!?)")
    if word.startswith(("pin", "cv")):
        return bare.isdigit() and 3 <= len(bare) <= 8
    if len(bare) < 4 or _PLACEHOLDER.fullmatch(bare) or re.match("https?://", bare):
        return False
    if re.fullmatch(r"[^\W\d_]+(?:['-][^\W\d_]+)*|[0-9]{1,3}(?:[.,][0-9]+)?|[0-9,]+", bare) or " " in bare:
        alone = said["by"] == "=" or _LAST.match(said.string, said.end()) is not None
        return _names_password(word) and (quoted or (said["by"] in ("=", ":", "：") and alone))
    mixed = any(letter.isdigit() for letter in bare) or not bare.isalnum()
    return quoted or mixed or (bare != bare.lower() and not bare.istitle())


def _names_password(word: str) -> bool:
    return not word.startswith(("secret", "token", "credential")) and "key" not in word


def _is_random(value: str) -> bool:
    if _UUID.fullmatch(value) or value.isdigit() or value.isalpha() or ("/" in value.strip("/") and value.islower()):
        return False
    if re.fullmatch("[0-9a-f]{40}|[0-9a-f]{64}|[0-9a-f]{7,12}", value):
        return False  # a commit or a checksum
    digits = sum(letter.isdigit() for letter in value)
    return digits >= 2 and _bits(value) >= (2.8 if re.fullmatch("[0-9a-fA-F-]+", value) else 3.4)


def _bits(value: str) -> float:
    """Shannon entropy, bits a character."""
    counts = Counter(value).values()
    return -sum(count / len(value) * math.log2(count / len(value)) for count in counts)


def _cards(content: str) -> Iterator[str]:
    for match in _CARD.finditer(content):
        number = "".join(letter for letter in match[0] if letter.isdigit())
        if _ISSUED.fullmatch(number) and _luhn([int(digit) for digit in number]):
            yield "payment card"
    for match in _IBAN.finditer(content):
        plain = match[0].replace(" ", "")
        if int("".join(str(int(letter, 36)) for letter in plain[4:] + plain[:4])) % 97 == 1:
            yield "bank account"


def _luhn(digits: list[int]) -> bool:
    doubled = [sum(divmod(2 * digit, 10)) for digit in digits[-2::-2]]
    return (sum(digits[-1::-2]) + sum(doubled)) % 10 == 0


_SEARCHES: tuple[Callable[[str], Iterator[str]], ...] = (_tokens, _passwords, _cards)
