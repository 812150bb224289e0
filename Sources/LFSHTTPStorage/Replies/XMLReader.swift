import Foundation
package import LFSStorage

#if canImport(FoundationXML)
import FoundationXML
#endif

/// Reads a reply that is XML (1.0, fifth edition) as strictly as `XMLParser` does not: on Linux that one takes cut
/// documents, empty ones and a wrong end for right.
///
/// Only UTF-8 is read, and no document type: an entity is one of XML's own five or a character's number.
package enum XMLReader {
    /// How many elements may be inside each other.
    static let maximumDepth = 16

    /// The root element, opened, closed and with one of the expected names, if any are given.
    ///
    /// - Parameter limit: how many bytes the body may have.
    /// - Throws: ``StorageError/Code/serverError``, with what came instead.
    package static func read(
        _ body: [UInt8], root names: String..., limit: Int = 1 << 20
    ) throws(StorageError) -> ReplyElement {
        let expected = names.map { "<\($0)>" }.joined(separator: " or ")
        guard body.count <= limit else {
            throw StorageError(
                .serverError, "The server's reply has \(body.count) bytes, and at most \(limit) were expected.")
        }
        let document = try document(in: body, expected: expected)
        let builder = TreeBuilder()
        let parser = XMLParser(data: Data(document))
        parser.shouldResolveExternalEntities = false
        parser.delegate = builder
        let isWellFormed = parser.parse() && parser.parserError == nil
        guard isWellFormed, !builder.isBroken, let root = builder.root else {
            throw unexpected(body, expected, "broken or cut XML")
        }
        guard names.isEmpty || names.contains(root.name) else {
            throw unexpected(body, expected, "<\(ServerText.excerpt(root.name))>")
        }
        return root
    }

    /// Whether the body is a document that this reader takes, whatever its root element.
    package static func isWhole(_ body: [UInt8]) -> Bool {
        do {
            _ = try read(body, limit: 4 << 20)
            return true
        } catch {
            return false
        }
    }

    /// The document without its declaration. S3 sends blanks before a reply that takes long.
    private static func document(in body: [UInt8], expected: String) throws(StorageError) -> ArraySlice<UInt8> {
        var rest = body[...]
        if rest.starts(with: [0xEF, 0xBB, 0xBF]) { rest = rest.dropFirst(3) }
        rest = rest.drop(while: isBlank)
        guard !rest.isEmpty else {
            throw StorageError(.serverError, "The server sent an empty reply instead of \(expected).")
        }
        // A declaration could name an encoding in which the document type hides from the search below.
        if rest.starts(with: "<?xml".utf8), rest.dropFirst(5).first.map(isBlank) == true {
            guard let end = rest.firstIndex(of: UInt8(ascii: ">")) else {
                throw unexpected(body, expected, "broken or cut XML")
            }
            rest = rest[(end + 1)...].drop(while: isBlank)
        }
        // The parser takes zeros between the letters for UTF-16.
        guard rest.first == UInt8(ascii: "<"), !rest.contains(0), String(validating: rest, as: UTF8.self) != nil else {
            throw unexpected(body, expected, "something that is not XML")
        }
        guard !contains("<!doctype", in: rest), !contains("<!entity", in: rest) else {
            throw unexpected(body, expected, "a document type")
        }
        return rest
    }

    private static func isBlank(_ byte: UInt8) -> Bool { [0x20, 0x09, 0x0A, 0x0D].contains(byte) }

    /// Whether the bytes have the lowercase text, in any case.
    private static func contains(_ text: String, in bytes: ArraySlice<UInt8>) -> Bool {
        let text = Array(text.utf8)
        return bytes.indices.contains { start in
            bytes[start] == text[0] && bytes[start...].count >= text.count
                && zip(bytes[start...], text).allSatisfy { $0 == $1 || $0 | 0x20 == $1 }
        }
    }

    private static func unexpected(_ body: [UInt8], _ expected: String, _ what: String) -> StorageError {
        StorageError(
            .serverError, "The server sent \(what) instead of \(expected): '\(ServerText.excerpt(body))'.")
    }
}

/// Builds the tree while `XMLParser` reads, and keeps its own book of what is open.
private final class TreeBuilder: NSObject, XMLParserDelegate {
    private(set) var root: ReplyElement?
    private(set) var isBroken = false
    private var open: [ReplyElement] = []

    func parser(
        _ parser: XMLParser, didStartElement name: String, namespaceURI: String?, qualifiedName: String?,
        attributes: [String: String]
    ) {
        guard root == nil, open.count < XMLReader.maximumDepth else { return giveUp(parser) }
        open.append(ReplyElement(name: name))
    }

    func parser(
        _ parser: XMLParser, didEndElement name: String, namespaceURI: String?, qualifiedName: String?
    ) {
        guard let element = open.popLast(), element.name == name else { return giveUp(parser) }
        if open.isEmpty {
            root = element
        } else {
            open[open.count - 1].children.append(element)
        }
    }

    func parser(_ parser: XMLParser, foundCharacters text: String) { add(text) }

    func parser(_ parser: XMLParser, foundCDATA block: Data) { add(String(decoding: block, as: UTF8.self)) }

    func parser(_ parser: XMLParser, parseErrorOccurred error: any Error) { giveUp(parser) }

    private func add(_ text: String) {
        if !open.isEmpty { open[open.count - 1].text += text }
    }

    private func giveUp(_ parser: XMLParser) {
        // An abort ends with calls for the elements that are open, and with this one again.
        if isBroken { return }
        isBroken = true
        parser.abortParsing()
    }
}
