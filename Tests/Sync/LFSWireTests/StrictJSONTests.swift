import LFSWire
import Testing

@Suite("Strict JSON")
struct StrictJSONTests {
    private func refusal(_ text: String, limits: StrictJSON.Limits = .request) -> WireFailure.Code? {
        do {
            try StrictJSON.check(Array(text.utf8), limits: limits)
            return nil
        } catch {
            return error.code
        }
    }

    @Test(arguments: [
        "{}", " { \"a\" : [ 1, -2.5e3, true, null, \"\\\"x\\\\\" ] } ", "[]",
        "{\"a\":{\"a\":1},\"b\":[{\"a\":2},{\"a\":3}]}", "\"ü\"",
    ])
    func `Valid JSON is accepted`(_ text: String) {
        #expect(refusal(text) == nil)
    }

    @Test(arguments: [
        "", "{", "[1,]", "{\"a\":}", "{\"a\" 1}", "{a:1}", "{} {}", "[1 2]", "\"abc", "\"a\nb\"", "{\"a\":1,}", "]",
        "{\"a\":1,\"a\":2}", "{\"a\":1,\"\\u0061\":2}", "\"\\", "{\"a\":{\"b\":1,\"b\":1}}",
    ])
    func `Broken or ambiguous JSON is refused`(_ text: String) {
        #expect(refusal(text) == .invalidRequest)
    }

    @Test func `JSON beyond the limits of depth, length and number of values is refused`() {
        #expect(refusal(String(repeating: "[", count: 100_000)) == .invalidRequest)
        #expect(refusal(String(repeating: "[", count: 8) + String(repeating: "]", count: 8)) == nil)
        let limits = StrictJSON.Limits(byteCount: 20, valueCount: 4)
        #expect(refusal("[1,2,3]", limits: limits) == nil)
        #expect(refusal("[1,2,3,4]", limits: limits) == .tooLarge)
        #expect(refusal("[                    ]", limits: limits) == .tooLarge)
    }

    @Test func `JSON that is not UTF-8 is refused`() {
        #expect(throws: WireFailure.self) { try StrictJSON.check([0x22, 0xFF, 0x22], limits: .request) }
    }

    @Test func `JSON that is cut or changed at any byte does not crash the check`() throws {
        let text = Array(#"{"version":1,"operation":"head","objects":[{"key":"a/b","size":-1.5e2},{"x":[null]}]}"#.utf8)
        for count in 0..<text.count {
            #expect(throws: WireFailure.self) { try StrictJSON.check(Array(text.prefix(count)), limits: .request) }
            for byte in [0, 0x22, 0x5C, 0x7B, 0x7D, 0x5B, 0xFF] as [UInt8] {
                var changed = text
                changed[count] = byte
                _ = try? StrictJSON.check(changed, limits: .request)
            }
        }
    }
}
