import Testing

@testable import LFSServerPostgres

@Suite("Translation of statements for PostgreSQL")
struct StatementTextTests {
    @Test(
        "Arguments are translated outside of strings, names, comments and bodies",
        arguments: [
            ("SELECT ?1, ?12", "SELECT $1, $12"), ("'?1' ?1", "'?1' $1"), ("'it''s ?1' ?2", "'it''s ?1' $2"),
            (#""?1" ?1"#, #""?1" $1"#), ("-- ?1\n?1", "-- ?1\n$1"), ("/* ?1 */ ?1 /*/ ?1", "/* ?1 */ $1 /*/ ?1"),
            ("$$ ?1 $$ ?1", "$$ ?1 $$ $1"), ("a ? b", "a ? b"), ("'Æ💐' ?1", "'Æ💐' $1"), ("?", "?"), ("", ""),
        ])
    func translated(_ sql: String, expected: String) {
        #expect(StatementText.translated(sql) == expected)
    }
}
