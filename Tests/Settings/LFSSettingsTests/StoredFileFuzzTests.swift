import Crypto
import Foundation
import TestSupport
import Testing

@testable import LFSSettings

/// Files of settings are untrusted input. Other programs and damaged disks change them.
@Suite("Fuzzed settings files", .timeLimit(.minutes(20)))
struct StoredFileFuzzTests {
    @Test("Random bytes of a stored value are decoded or refused with a typed error")
    func values() throws {
        let content = SerializedValue(serializer: "json", version: 3, bytes: Data("[1,2]".utf8))
        let sample = StoredValue(content, updatedAt: 1_700_000_000_000).encoded(for: "place")
        var read = 0
        for bytes in FuzzedInputs([Array(sample), Array(sample.dropLast(SHA256.byteCount))]) {
            var function = SHA256()
            function.update(data: Data(bytes))
            function.update(data: Data("place".utf8))
            for data in [Data(bytes), Data(bytes) + Data(function.finalize())] {
                do {
                    let value = try StoredValue(encoded: data, for: "place")
                    #expect(value.encoded(for: "place") == data)
                    read += 1
                } catch let error {
                    #expect([.corrupted, .newerValue].contains(error.code))
                }
            }
        }
        #expect(read > 0)
    }

    @Test("Random bytes of a sealed file are decoded or refused with a typed error")
    func sealedFiles() throws {
        var content = SealedFileContent()
        content.note = Data("note".utf8)
        content.items = ["one": Data("LFSE0123456789".utf8), "two": Data()]
        var read = 0
        for bytes in FuzzedInputs([Array(try content.encoded())]) {
            do {
                let content = try SealedFileContent(encoded: Data(bytes))
                for envelope in content.items.values { _ = Envelope.keyID(of: envelope) }
                read += 1
            } catch let error {
                #expect([.corrupted, .newerValue].contains(error.code))
            }
        }
        #expect(read > 0)
    }
}
