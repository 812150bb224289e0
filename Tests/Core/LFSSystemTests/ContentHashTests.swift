import TestSupport
import Testing

@testable import LFSSystem

@Suite("Content hash", .timeLimit(.minutes(10)))
struct ContentHashTests {
    @Test(
        "The hash of a content is SHA-256 as defined by FIPS 180-4",
        arguments: [
            ("", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
            ("abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
            (
                "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
                "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"
            ),
        ])
    func vectors(_ text: String, digest: String) {
        #expect(ContentHash.hex(ofText: text) == digest)
    }

    @Test("The hash does not depend on the pieces in which the bytes arrive")
    func pieces() {
        let bytes = SampleBytes.make(10_000)
        var whole = ContentHash()
        bytes.withUnsafeBytes { whole.update($0) }
        var parts = ContentHash()
        bytes.withUnsafeBytes { buffer in
            for start in stride(from: 0, to: bytes.count, by: 7) {
                parts.update(UnsafeRawBufferPointer(rebasing: buffer[start..<min(start + 7, bytes.count)]))
            }
        }
        #expect(parts.hex == whole.hex && parts.byteCount == 10_000)
    }
}
