//! The script of a page that has charts, with the charts' data: all in the page itself.

use crate::chart::data::Data;

/// uPlot draws, `report.js` tells it what (see `uplot/README.md`).
const UPLOT: &str = include_str!("uplot/uPlot.iife.min.js");
const UPLOT_STYLE: &str = include_str!("uplot/uPlot.min.css");
const REPORT: &str = include_str!("report.js");

/// What stands before the page's own style.
pub(super) fn style() -> String {
    format!("{}\n", UPLOT_STYLE.trim_end())
}

/// What stands at the page's end.
pub(super) fn scripts(charts: &Data) -> String {
    format!(
        "<script type=\"application/json\" id=\"charts\">{}</script>\n<script>{UPLOT}</script>\n\
         <script>{REPORT}</script>\n",
        charts.to_json()
    )
}
