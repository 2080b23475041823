"""Related tables: people and their events under (k, k^m)-anonymity, with numpy and without a database."""
