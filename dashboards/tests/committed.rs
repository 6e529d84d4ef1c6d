//! The committed JSON files are what the program writes. `UPDATE_GOLDEN=1` writes them anew.

#[test]
fn the_committed_dashboards_are_what_the_program_writes() {
    for dashboard in dashboards::all() {
        let path = dashboards::path(&dashboard);
        let text = dashboard.text();
        if std::env::var_os("UPDATE_GOLDEN").is_some() {
            std::fs::write(&path, &text).unwrap();
        }
        let committed = std::fs::read_to_string(&path).unwrap_or_default();
        assert!(
            committed == text,
            "{} is stale: run `cargo run -p dashboards` and commit it",
            path.display()
        );
    }
}
