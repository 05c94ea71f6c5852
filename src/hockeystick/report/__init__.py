"""What is shown to people: numbers rounded outward, the sentence to quote, the table of what is supported."""

from hockeystick.report.answer import (
    Answer,
    assumption_lines,
    delta_answer,
    delta_json,
    epsilon_answer,
    epsilon_json,
    warning_lines,
)
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

__all__ = [
    "Answer",
    "Entry",
    "assumption_lines",
    "calibration_answer",
    "calibration_json",
    "comparison_json",
    "comparison_lines",
    "delta_answer",
    "delta_entry",
    "delta_json",
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
