"""The likeliest set-up of a paper: what it leaves open is searched jointly for the best fit to its numbers.

The open axes of a paper's experiments are combined over the paper
(:mod:`airwnd.study.reproduce.likeliest.choices`), and every number that the paper prints
(:mod:`airwnd.study.reproduce.likeliest.numbers`) is compared with our value in each set-up
(:mod:`airwnd.study.reproduce.likeliest.fit`). Seeds are added where the fit is good
(:mod:`airwnd.study.reproduce.likeliest.race`), and claims are judged in the set-up that fits best
(:mod:`airwnd.study.reproduce.likeliest.judged`).

Nothing is fitted by row, and no model changes: a set-up applies to all tables of the paper, and each table is
also predicted from the others.
"""
