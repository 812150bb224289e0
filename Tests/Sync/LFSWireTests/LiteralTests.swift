import Testing

@testable import LFSWire

@Suite("Constants of SQL")
struct LiteralTests {
    @Test(
        "A constant is read as SQLite stores it",
        arguments: [
            ("NULL", SyncValue.null), ("true", .integer(1)), ("FALSE", .integer(0)), ("0", .integer(0)),
            (" -12", .integer(-12)), ("+7", .integer(7)), ("9223372036854775807", .integer(.max)),
            ("9223372036854775808", .real(9_223_372_036_854_775_808)), ("0.5", .real(0.5)), ("-1e3", .real(-1_000)),
            ("''", .text("")), ("'it''s'", .text("it's")), ("''''", .text("'")), ("x'00fF'", .blob([0, 255])),
            ("X''", .blob([])),
        ])
    func value(_ literal: String, value: SyncValue) {
        #expect(SyncValue(literal: literal) == value)
    }

    @Test(
        "Any other expression is not a constant",
        arguments: [
            "", "CURRENT_TIMESTAMP", "1+2", "random()", "'a' || 'b'", "'a", "'", "'''", "x'0'", "x'zz'", "x'+f'",
            "\"a\"",
            "1e999", "nan", "inf", "-", "e", "abc", "0x10",
        ])
    func none(_ literal: String) {
        #expect(SyncValue(literal: literal) == nil)
    }
}
