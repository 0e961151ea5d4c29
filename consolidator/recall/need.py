"""Which queries need no memory: greetings, thanks, "ok", emoji, commands, and what is too short to ask for anything."""

import re
import unicodedata

from consolidator.words import LETTER, fold, kinds

SHORTEST = 3  # letters of a query; one of a script without spaces says more with each
SHORTEST_UNSPACED = 2

_FORCING = re.compile(
    r"\b(?:remember|recall|remind|last (?:time|week|month|year|night)|previously|earlier|you (?:said|told)|"
    r"(?:did|have) (?:i|we) (?:\w+ )?(?:say|tell|talk|mention|told|said|talked|mentioned)|"
    r"we (?:talked|spoke|discussed))\b"
    r"|记得|記得|上次|之前|还记得|覚えて|前回|この前|기억|지난번|저번"
)
_SAID = (
    "hi hello hey hiya yo howdy greetings good morning afternoon evening night day there again everyone all "
    "ok okay okey k kk yes yeah yep yup no nope nah sure fine great good nice cool perfect awesome wonderful "
    "thanks thank you thx ty cheers much very so a lot welcome please bye goodbye see you later cu ciao "
    "lol haha hahaha hmm hm ah oh wow right alright got it understood done go ahead continue next stop "
    "hallo guten morgen tag abend danke ja nein gut tschuss bonjour salut merci oui non hola gracias si adios"
)
_SMALL_TALK = frozenset(_SAID.split())
_SAID_UNSPACED = (
    "你好 您好 谢谢 謝謝 好的 好 嗯 是的 不是 再见 再見 早上好 晚安 こんにちは おはよう こんばんは ありがとう "
    "はい いいえ うん 안녕 안녕하세요 감사합니다 고마워 네 아니요 응"
)
_SMALL_TALK_UNSPACED = frozenset(fold(each) for each in _SAID_UNSPACED.split())
_MOST_SMALL_TALK = 6
_SEEN = re.compile(r"[a-z0-9']+")


def no_need(query: str) -> str | None:
    """Why a query needs no memory, in words; None where it may need some."""
    asked = query.strip()
    if not asked:
        return "the query is empty"
    folded = fold(asked)
    if _FORCING.search(folded):
        return None
    if re.match(r"/[A-Za-z][\w:-]*(?:\s|\Z)", asked):
        return "a command"
    letters = [character for character in folded if unicodedata.category(character)[0] in "LN"]
    if not letters:
        return "there is no word in it"
    plain = "".join(letters)
    if plain in _SMALL_TALK_UNSPACED:
        return "a greeting, or an answer that asks for nothing"
    unspaced = any(ord(character) < 0x10000 and kinds()[ord(character)] == LETTER for character in letters)
    if len(letters) < (SHORTEST_UNSPACED if unspaced else SHORTEST):
        return "too short to ask for anything"
    said = _SEEN.findall(folded)
    if not unspaced and len(said) <= _MOST_SMALL_TALK and all(word in _SMALL_TALK for word in said) and said:
        return "a greeting, or an answer that asks for nothing"
    return None
