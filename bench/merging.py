"""
What merging finds, what it lets through, and what that takes.

Laws: of the true pairs the search for candidates keeps at least 99 in 100; a first night over 100,000 memories takes
45 s and 1.5 GB or less, a later night with 5,000 changed 5 s or less, on two processors. Nothing is asserted.

    make bench-merging
    .venv/bin/python bench/merging.py
"""

import _candidates
import _pairs


def main() -> None:
    """Print as it comes: the candidates, then the guard, the proof and absorbing."""
    _candidates.measure_search()
    if _pairs.DATA.exists():
        _candidates.measure_on_sentences()
        _pairs.report()
    else:
        print(f"{_pairs.DATA} is not there: nothing is said about real pairs")


if __name__ == "__main__":
    main()
