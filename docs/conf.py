"""Configuration of the documentation site: ``make site`` writes ``out/site/index.html``.

The source folder is the root of the project, so that links between pages, to the README and to the code work
both on the site and in the repository.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "_site"))

import airwnd

project = "airwnd"
author = "The airwnd authors"
copyright = author  # noqa: A001 (name required by Sphinx)
version = release = airwnd.__version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.napoleon",
    "myst_nb",
    "parts",
    "code_pages",
    "live",
    "mathml",
]
root_doc = "docs/index"
include_patterns = [
    *("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "docs/**"),
    *("experiments/**README.md", "experiments/*/RESULTS.md", "experiments/link/AGREEMENT.md"),
    "experiments/*/LIKELIEST.md",
]
exclude_patterns = [".*", "crates", "python", "out", "target", "docs/_site", "**/.ipynb_checkpoints"]
highlight_language = "text"
smartquotes_action = "D"  # dashes; quotes stay as they are written
nitpick_ignore_regex = [
    # Nothing is downloaded, so objects of other projects are named without links.
    ("py:(class|exc)", r"(Axes|DataFrame|Figure|NDArray)"),
    ("py:(class|exc)", r"(collections|matplotlib|np|numpy|os|pathlib|pl|polars|typing)\..*"),
    # Types of arguments that are not public names.
    ("py:(class|exc)", r"(Observation|Raw|Size|Values|Workers|airwnd\._native\.(Path|Session))"),
    ("py:(class|exc)", r"airwnd\.study\.trial\._Connection"),
    ("py:(class|exc)", r"airwnd\.(plugins|study\.batch|vocabulary)\..*"),
]

myst_heading_anchors = 4  # as in the repository: anchors are the words of headings
myst_fence_as_directive = ["math"]
myst_disable_syntax = ["myst_line_comment"]  # a line may begin with a percent sign
html_math_renderer = "mathml"
nb_execution_mode = "off"  # notebooks are stored with their outputs (`make notebooks`)

autosummary_generate = False
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_typehints_format = "short"
napoleon_google_docstring = False
napoleon_use_rtype = False
napoleon_use_ivar = True
napoleon_attr_annotations = False  # types are in the signature
python_maximum_signature_line_length = 72

html_theme = "furo"
html_title = f"airwnd {release}"
html_static_path = ["_site/static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sphinx = False
html_show_search_summary = False  # browsers cannot fetch it from disk
html_theme_options = {"navigation_with_keys": True}
