import LFSHTTP
import Testing

@Suite struct HTTPHeadersTests {
    @Test func namesCompareWithoutCase() throws {
        var headers: HTTPHeaders = ["Content-Type": "text/plain"]
        #expect(headers["content-TYPE"] == "text/plain")
        try headers.set("CONTENT-type", value: "image/png")
        #expect(headers.fields.count == 1)
        #expect(headers["Content-Type"] == "image/png")
        headers.remove("content-type")
        #expect(headers["Content-Type"] == nil)
    }

    @Test(arguments: ["a\r\nx-evil: 1", "a\nb", "a\0b", "\u{7F}", "a\u{1B}[2J"])
    func aValueCannotSmuggleInAnotherField(_ value: String) {
        var headers = HTTPHeaders()
        #expect(throws: HTTPError.self) { try headers.set("x-name", value: value) }
        #expect(headers.fields.isEmpty)
    }

    @Test(arguments: ["", "a b", "a:b", "a\r\nb", "ä", "a\0"])
    func aNameIsAToken(_ name: String) {
        var headers = HTTPHeaders()
        #expect(throws: HTTPError.self) { try headers.set(name, value: "1") }
    }

    @Test(arguments: ["München", "tab\there", " ", ""])
    func aValueMayHoldAnythingThatCanBeRead(_ value: String) throws {
        var headers = HTTPHeaders()
        try headers.set("x-name", value: value)
        #expect(headers["x-name"] == value)
    }
}
