"""Reports: one value a night, told at four levels in four forms."""

from consolidator.report.build import build
from consolidator.report.document import as_json, from_json
from consolidator.report.render import FORMS, LEVELS, render
from consolidator.report.report import Report

__all__ = ["FORMS", "LEVELS", "Report", "as_json", "build", "from_json", "render"]
