"""Equations of doc comments, as the terminal shows them."""

import pytest

from airwnd.vocabulary.equations import plain


@pytest.mark.parametrize(
    ("latex", "text"),
    [
        (r"\lambda + p = \frac{0.078}{w^{1.2}}", "λ + p = 0.078 / (w^1.2)"),
        (
            r"\mathrm{rwnd} = \lambda \frac{\mathit{RTT}_{\min}}{\mathit{RTT}} \mathrm{cwnd\_est}",
            "rwnd = λ (RTT_min / RTT) cwnd_est",
        ),
        (r"x \leftarrow \max(\beta \cdot x, 2^{k-1})", "x ← max(β · x, 2^(k-1))"),
        (r"J = \frac{(\sum_i x_i)^2}{n \sum_i x_i^2}", "J = ((∑_i x_i)^2) / (n ∑_i x_i^2)"),
        (r"K = \sqrt[3]{\frac{W_{\max} (1 - \beta)}{C}}", "K = ∛((W_max (1 - β)) / C)"),
        (r"\left(\frac{x}{y}\right)^{3/4} \le 10^{-6}", "(x / y)^(3/4) ≤ 10^-6"),
        (r"w \leftarrow w + \frac{1}{w} \\ b = \frac{a + c}{b}", "w ← w + 1 / w\nb = (a + c) / b"),
        (
            r"p = \begin{cases} 0 & \bar{q} < q_0 \\"
            r" P \frac{\bar{q} - q_0}{2} & \text{otherwise} \end{cases}",
            "p = 0, q̅ < q_0\n    P ((q̅ - q_0) / 2), otherwise",
        ),
    ],
)
def test_an_equation_is_a_line_of_text(latex: str, text: str) -> None:
    assert plain(latex) == text
