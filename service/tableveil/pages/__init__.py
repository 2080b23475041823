"""Pages: templates, a stylesheet and charts that all of them share, and PDF; no script, nothing from elsewhere."""

from tableveil.pages.charts import Line, heat_map, lines, share_bars
from tableveil.pages.environment import environment
from tableveil.pages.pdf import as_pdf
