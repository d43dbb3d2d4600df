"""The quick figures of the document; the large case is run by hand."""

from __future__ import annotations

import pytest
from experiments.carney import freshness as figures


@pytest.mark.parametrize("figure", [figures.table_2_1, figures.figure_2_1, figures.figure_2_3, figures.figure_2_10])
def test_figures_are_reproduced(figure: figures.Figure) -> None:
    found = figure()
    assert [claim.published for claim in found.claims if claim.holds is False] == []
    assert "reproduced" in found.text()
