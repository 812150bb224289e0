import Foundation
package import LFSStorage

#if canImport(FoundationXML)
import FoundationXML
#endif

/// A reader for XML replies (XML 1.0, fifth edition) that is stricter than `XMLParser`. On Linux, `XMLParser` accepts
/// truncated documents, empty documents and mismatched end tags.
///
/// It reads UTF-8 only and rejects document types. The only entities are XML's five predefined ones and character
/// references.
package enum XMLReader {
    /// The maximum nesting depth of elements.
    static let maximumDepth = 16

    /// Returns the root element of a complete document. If names are given, the root must have one of them.
    ///
    /// - Parameter limit: the maximum length of the body in bytes.
    /// - Throws: ``StorageError/Code/serverError``, with an excerpt of the reply.
    package static func read(
        _ body: [UInt8], root names: String..., limit: Int = 1 << 20
    ) throws(StorageError) -> ReplyElement {
        let expected = names.map { "<\($0)>" }.joined(separator: " or ")
        guard body.count <= limit else {
            throw StorageError(
                .serverError, message: "The server's reply has \(body.count) bytes, but at most \(limit) were expected."
            )
        }
        let document = try document(in: body, expected: expected)
        let builder = TreeBuilder()
        let parser = XMLParser(data: Data(document))
        parser.shouldResolveExternalEntities = false
        parser.delegate = builder
        let isWellFormed = parser.parse() && parser.parserError == nil
        guard isWellFormed, !builder.isBroken, let root = builder.root else {
            throw unexpected(body, expected, what: "broken or cut XML")
        }
        guard names.isEmpty || names.contains(root.name) else {
            throw unexpected(body, expected, what: "<\(SanitizedErrorText.excerpt(root.name))>")
        }
        return root
    }

    /// Returns true if this reader accepts the body, with any root element.
    package static func isWhole(_ body: [UInt8]) -> Bool {
        do {
            _ = try read(body, limit: 4 << 20)
            return true
        } catch {
            return false
        }
    }

    /// Returns the document without its declaration. S3 sends whitespace before a reply that takes long.
    private static func document(in body: [UInt8], expected: String) throws(StorageError) -> ArraySlice<UInt8> {
        var rest = body[...]
        if rest.starts(with: [0xEF, 0xBB, 0xBF]) { rest = rest.dropFirst(3) }
        rest = rest.drop(while: isBlank)
        guard !rest.isEmpty else {
            throw StorageError(.serverError, message: "The server sent an empty reply instead of \(expected).")
        }
        // A declaration could name an encoding that hides a document type from the search below.
        if rest.starts(with: "<?xml".utf8), rest.dropFirst(5).first.map(isBlank) == true {
            guard let end = rest.firstIndex(of: UInt8(ascii: ">")) else {
                throw unexpected(body, expected, what: "broken or cut XML")
            }
            rest = rest[(end + 1)...].drop(while: isBlank)
        }
        // The parser treats zero bytes between the letters as UTF-16.
        guard rest.first == UInt8(ascii: "<"), !rest.contains(0), String(validating: rest, as: UTF8.self) != nil else {
            throw unexpected(body, expected, what: "something that is not XML")
        }
        guard !contains("<!doctype", in: rest), !contains("<!entity", in: rest) else {
            throw unexpected(body, expected, what: "a document type")
        }
        return rest
    }

    private static func isBlank(_ byte: UInt8) -> Bool { [0x20, 0x09, 0x0A, 0x0D].contains(byte) }

    /// Returns true if the bytes contain the lowercase text, ignoring case.
    private static func contains(_ text: String, in bytes: ArraySlice<UInt8>) -> Bool {
        let text = Array(text.utf8)
        return bytes.indices.contains { start in
            bytes[start] == text[0] && bytes[start...].count >= text.count
                && zip(bytes[start...], text).allSatisfy { $0 == $1 || $0 | 0x20 == $1 }
        }
    }

    private static func unexpected(_ body: [UInt8], _ expected: String, what: String) -> StorageError {
        StorageError(
            .serverError,
            message: "The server sent \(what) instead of \(expected): '\(SanitizedErrorText.excerpt(body))'.")
    }
}

/// A parser delegate that builds the tree and tracks the open elements itself.
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
        // After an abort, the parser still closes the open elements and reports an error once more.
        if isBroken { return }
        isBroken = true
        parser.abortParsing()
    }
}
