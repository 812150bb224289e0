import LFSHTTPStorage
import Testing

@Suite("Byte ranges") struct ContentRangeTests {
    @Test func isAskedForWithItsLastByte() {
        #expect((0..<10).asField == "bytes=0-9")
        #expect((5..<6).asField == "bytes=5-5")
    }

    @Test func isReadWithTheSizeOfTheWhole() throws {
        let range = try #require(ContentRange("Bytes 5-9/100"))
        #expect(range.first == 5 && range.last == 9 && range.total == 100)
    }

    @Test(
        "A malformed Content-Range is refused",
        arguments: [
            "", "bytes", "bytes */100", "bytes 0-9/*", "bytes 9-5/100", "bytes 0-100/100", "items 0-9/100", "bytes 0-9",
            "bytes -9/100", "bytes 0-9/100/2", "bytes 0-99999999999999999999/100",
        ])
    func refused(_ field: String) { #expect(ContentRange(field) == nil) }
}
