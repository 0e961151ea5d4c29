"""A report at a level, in a form."""

from consolidator.errors import BadInput
from consolidator.report import words
from consolidator.report.document import as_json, dumps, without_texts
from consolidator.report.markdown import markdown
from consolidator.report.report import Report
from consolidator.report.text import text

LEVELS = ("off", "errors", "summary", "detailed")
FORMS = ("text", "markdown", "html", "json")


def render(report: Report, level: str, form: str = "text") -> str:
    """
    The report as text without a last line break; empty where the level has nothing to say.

    No memory text below `detailed`. off: always empty. errors: empty unless something went wrong or stopped
    happening. BadInput for an unknown level or form.
    """
    for name, value, known in (("level", level, LEVELS), ("form", form, FORMS)):
        if value not in known:
            raise BadInput(f"{value!r} is no {name} of a report; there are {', '.join(known)}")
    if level == "off" or (level == "errors" and not words.problem(report)):
        return ""
    if form == "json":
        document = as_json(report)
        return dumps(document if level == "detailed" else without_texts(document))
    if form == "markdown":
        return markdown(report, level)
    if form == "html":
        from consolidator.report.html import html  # a template engine that other forms need not load

        return html(report, level)
    return text(report, level)
