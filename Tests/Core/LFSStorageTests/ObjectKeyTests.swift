import LFSStorage
import Testing

@Suite("Object keys", .timeLimit(.minutes(10)))
struct ObjectKeyTests {
    @Test(
        "A key may contain segments of a-z, 0-9, '.', '_' and '-'",
        arguments: ["a", "0", "a/b", "a.b_c-d/e", "_", "-", "a..b", String(repeating: "k", count: 512)])
    func valid(_ text: String) throws {
        #expect(try ObjectKey(text).rawValue == text)
    }

    @Test(
        "Every other text is refused as a key",
        arguments: [
            "", "/", "/a", "a/", "a//b", ".", "..", "../a", "a/../b", "a/.b", ".a", "A", "a b", "a\n", "a\u{0}b", "ä",
            "a%2f",
            "a\\b", "a:b", "e\u{301}", String(repeating: "k", count: 513),
        ])
    func invalid(_ text: String) {
        let error = #expect(throws: StorageError.self) { try ObjectKey(text) }
        #expect(error?.code == .invalidKey)
        #expect(error?.isRetryable == false)
    }
}
