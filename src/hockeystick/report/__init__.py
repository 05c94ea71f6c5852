"""Text for people: numbers rounded outward, the sentence to quote, the table of supported combinations."""

from typing import TYPE_CHECKING

from hockeystick.values.late import exports

LATE = {
    "Answer": "answer",
    "assumption_lines": "answer",
    "delta_answer": "answer",
    "delta_json": "answer",
    "epsilon_answer": "answer",
    "epsilon_json": "answer",
    "warning_lines": "answer",
    "audit_answer": "audit",
    "audit_json": "audit",
    "calibration_answer": "calibration",
    "calibration_json": "calibration",
    "Entry": "comparison",
    "comparison_json": "comparison",
    "comparison_lines": "comparison",
    "delta_entry": "comparison",
    "epsilon_entry": "comparison",
    "failure_of": "comparison",
    "sorted_entries": "comparison",
    "enveloped": "document.envelope",
    "exact": "rounding",
    "exp_down": "rounding",
    "exp_up": "rounding",
    "round_down": "rounding",
    "round_up": "rounding",
    "sampling_cells": "samplings",
    "sampling_headline": "samplings",
    "sampling_json": "samplings",
    "sampling_notes": "samplings",
    "sampling_remarks": "samplings",
    "sampling_warnings": "samplings",
    "supported_json": "supported",
    "supported_markdown": "supported",
    "supported_rows": "supported",
    "print_accountants": "tables",
    "print_answer": "tables",
    "print_caveats": "tables",
    "print_comparison": "tables",
    "print_samplings": "tables",
    "print_supported": "tables",
}
"""Module that defines each name; it is imported on first use, so that a command loads only its own answer."""

if TYPE_CHECKING:
    from hockeystick.report.answer import (
        Answer,
        assumption_lines,
        delta_answer,
        delta_json,
        epsilon_answer,
        epsilon_json,
        warning_lines,
    )
    from hockeystick.report.audit import audit_answer, audit_json
    from hockeystick.report.calibration import calibration_answer, calibration_json
    from hockeystick.report.comparison import (
        Entry,
        comparison_json,
        comparison_lines,
        delta_entry,
        epsilon_entry,
        failure_of,
        sorted_entries,
    )
    from hockeystick.report.document.envelope import enveloped
    from hockeystick.report.rounding import exact, exp_down, exp_up, round_down, round_up
    from hockeystick.report.samplings import (
        sampling_cells,
        sampling_headline,
        sampling_json,
        sampling_notes,
        sampling_remarks,
        sampling_warnings,
    )
    from hockeystick.report.supported import supported_json, supported_markdown, supported_rows
    from hockeystick.report.tables import (
        print_accountants,
        print_answer,
        print_caveats,
        print_comparison,
        print_samplings,
        print_supported,
    )
else:
    __getattr__ = exports(__name__, LATE)

__all__ = [
    "Answer",
    "Entry",
    "assumption_lines",
    "audit_answer",
    "audit_json",
    "calibration_answer",
    "calibration_json",
    "comparison_json",
    "comparison_lines",
    "delta_answer",
    "delta_entry",
    "delta_json",
    "enveloped",
    "epsilon_answer",
    "epsilon_entry",
    "epsilon_json",
    "exact",
    "exp_down",
    "exp_up",
    "failure_of",
    "print_accountants",
    "print_answer",
    "print_caveats",
    "print_comparison",
    "print_samplings",
    "print_supported",
    "round_down",
    "round_up",
    "sampling_cells",
    "sampling_headline",
    "sampling_json",
    "sampling_notes",
    "sampling_remarks",
    "sampling_warnings",
    "sorted_entries",
    "supported_json",
    "supported_markdown",
    "supported_rows",
    "warning_lines",
]
