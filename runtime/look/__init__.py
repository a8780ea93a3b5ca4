"""Looking at what a run has written: `watch`, `report`, `compare`. Reads run folders, and writes nothing into them but
`report.html`. Needs neither the device nor the artifact."""
