//! Governed tool calls for coding agents: catalog, plan, approval, run, receipt.
