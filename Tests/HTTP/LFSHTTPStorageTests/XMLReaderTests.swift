import LFSHTTPStorage
import LFSStorage
import Testing

@Suite("XML reader", .timeLimit(.minutes(10))) struct XMLReaderTests {
    private func read(_ text: String, limit: Int = 1 << 20) throws -> ReplyElement {
        try XMLReader.read(Array(text.utf8), root: "A", limit: limit)
    }

    @Test func readsElementsAndTheirText() throws {
        let root = try read(
            """
            <?xml version="1.0"?>
            <A xmlns="http://n"><B>1</B><C/><B>&lt;&amp;&#65;<![CDATA[<x>]]>\u{E9}</B></A>

            """)
        #expect(root.name == "A")
        #expect(root.all("B").map(\.text) == ["1", "<&A<x>\u{E9}"])
        #expect(root.optional("C") == nil)
        #expect(root.optional("D") == nil)
        #expect(try root.required("B") == "1")
        #expect(throws: StorageError.self) { try root.required("C") }
    }

    @Test(
        "Declarations, comments and whitespace around XML are accepted",
        arguments: [
            "  \n<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n\n   <A>x</A>", "\u{FEFF}<A>x</A>", "<A>x</A>\r\n",
            "<?xml version=\"1.0\" encoding=\"ISO-8859-1\"?><A>x</A>", "<!-- c --><A>x</A><!-- c -->",
        ])
    func around(_ text: String) throws { #expect(try read(text).text == "x") }

    @Test(
        "An incomplete or malformed XML document is refused",
        arguments: [
            "", " \n", "x", "<A>", "<A", "<A>x</A", "<A><B></A>", "<A><B></A></B>", "</A>", "<A>x</A><A/>", "<A>x</A>y",
            "<A>x</A><", "<A>a & b</A>", "<A>&foo;</A>", "<A>\u{1}</A>", "<A b>x</A>", "<A b='1' b='2'>x</A>",
            "<B>x</B>",
            "<a>x</a>", "<AA>x</AA>", "<?xml version=\"1.0\"?>", "<?xml version=\"1.0\"", "{\"A\":1}",
            "<html><body><p>Bad gateway</body></html>", "<A>x</A>\0", "<A>]]></A>", "<A><!-- </A>", "<A>&#0;</A>",
        ])
    func broken(_ text: String) {
        let error = #expect(throws: StorageError.self) { try read(text) }
        #expect(error?.code == .serverError)
        #expect(error?.message.unicodeScalars.contains { $0.value < 32 } == false)
    }

    @Test(
        "An XML document type is refused before parsing",
        arguments: [
            "<!DOCTYPE A><A>x</A>", "<!doctype html><A>x</A>",
            "<?xml version=\"1.0\"?>\n<!DOCTYPE A SYSTEM 'http://h/x'><A>x</A>",
            "<!DOCTYPE A [<!ENTITY a 'ha'><!ENTITY b '&a;&a;&a;&a;&a;'><!ENTITY c '&b;&b;&b;&b;&b;'>]><A>&c;</A>",
            "<!DOCTYPE A [<!ENTITY f SYSTEM 'file:///etc/passwd'>]><A>&f;</A>",
        ])
    func documentType(_ text: String) {
        let error = #expect(throws: StorageError.self) { try read(text) }
        #expect(error?.message.contains("a document type") == true)
    }

    @Test("An XML document type hidden by another encoding is refused")
    func encodings() {
        let document = "<?xml version=\"1.0\" encoding=\"UTF-16\"?><!DOCTYPE A [<!ENTITY e 'x'>]><A>&e;</A>"
        let wide: [UInt8] = [0xFF, 0xFE] + document.utf16.flatMap { [UInt8($0 & 255), UInt8($0 >> 8)] }
        #expect(throws: StorageError.self) { try XMLReader.read(wide, root: "A") }
        let unmarked = Array(wide.dropFirst(2))
        #expect(throws: StorageError.self) { try XMLReader.read(unmarked, root: "A") }
        for blank in ["\t", "\n", "\r\n"] {
            #expect(throws: StorageError.self) {
                try read("<?xml\(blank)version=\"1.0\" encoding=\"UTF-7\"?>+ADw-A+AD4-x+ADw-/A+AD4-")
            }
            #expect(throws: StorageError.self) {
                try read("<?xml\(blank)version=\"1.0\" encoding=\"UTF-7\"?><A>+ADw-B/+AD4-</A>").required("B")
            }
            #expect(throws: Never.self) {
                let text = try read("<?xml\(blank)version=\"1.0\" encoding=\"UTF-7\"?><A>+AEE-</A>").text
                #expect(text == "+AEE-")
            }
        }
        #expect(throws: StorageError.self) {
            try read("<?xml version=\"1.0\" encoding=\"UTF-7\"?>+ADwAIQ-DOCTYPE A [+ADwAIQ-ENTITY e 'x'>]><A>&e;</A>")
        }
        #expect(throws: StorageError.self) {
            try XMLReader.read(Array("<A>".utf8) + [0xE9] + Array("</A>".utf8), root: "A")
        }
    }

    @Test func refusesDeepNesting() throws {
        func nested(_ depth: Int) -> String {
            "<A>" + String(repeating: "<B>", count: depth - 1) + String(repeating: "</B>", count: depth - 1) + "</A>"
        }
        #expect(try read(nested(16)).name == "A")
        #expect(throws: StorageError.self) { try read(nested(17)) }
        #expect(throws: StorageError.self) { try read(nested(10_000)) }
        #expect(throws: StorageError.self) { try read(String(repeating: "<A>", count: 10_000)) }
    }

    @Test func refusesMoreThanTheLimit() throws {
        #expect(try read("<A>x</A>", limit: 8).text == "x")
        #expect(throws: StorageError.self) { try read("<A>x</A>", limit: 7) }
    }

    @Test("Only whole numbers in their range are accepted in XML")
    func numbers() throws {
        func number(_ text: String) throws -> Int64 {
            try read("<A><N>\(text)</N></A>").required("N", in: 0...Int64.max)
        }
        #expect(try number("0") == 0)
        #expect(try number("9223372036854775807") == .max)
        for text in ["", "-1", "+1", " 1", "1.0", "0x1", "9223372036854775808", "1e3", "\u{661}"] {
            #expect(throws: StorageError.self, "\(text)") { try number(text) }
        }
        #expect(throws: StorageError.self) { try read("<A><N>10001</N></A>").required("N", in: 1...10_000) }
    }

    @Test func takesTrueAndFalseOnly() throws {
        #expect(try read("<A><F>true</F></A>").requiredFlag("F"))
        #expect(try !read("<A><F>false</F></A>").requiredFlag("F"))
        for text in ["", "1", "True", "yes"] {
            #expect(throws: StorageError.self) { try read("<A><F>\(text)</F></A>").requiredFlag("F") }
        }
    }
}
