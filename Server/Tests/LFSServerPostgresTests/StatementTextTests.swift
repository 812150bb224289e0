import Testing

@testable import LFSServerPostgres

@Suite("Statements in PostgreSQL's words")
struct StatementTextTests {
    @Test(
        "An argument is $1, and what stands in a text, a name, a comment or a body stays",
        arguments: [
            ("SELECT ?1, ?12", "SELECT $1, $12"), ("'?1' ?1", "'?1' $1"), ("'it''s ?1' ?2", "'it''s ?1' $2"),
            (#""?1" ?1"#, #""?1" $1"#), ("-- ?1\n?1", "-- ?1\n$1"), ("/* ?1 */ ?1 /*/ ?1", "/* ?1 */ $1 /*/ ?1"),
            ("$$ ?1 $$ ?1", "$$ ?1 $$ $1"), ("a ? b", "a ? b"), ("'Æ💐' ?1", "'Æ💐' $1"), ("?", "?"), ("", ""),
        ])
    func translated(_ sql: String, _ expected: String) {
        #expect(StatementText.translated(sql) == expected)
    }
}
