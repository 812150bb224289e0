import LFSHTTPStorage
import LFSStorage
import LFSSystem
import Synchronization

/// Reads a `multistatus` (RFC 4918, 14.16) response by response while it comes, so that a folder of a million files
/// takes no more memory than one of ten.
///
/// Owner of its state: the mutex. One reply writes to it, piece by piece.
final class MultistatusReader: Sendable {
    private struct State {
        /// What has come and was not read yet.
        var rest: [UInt8] = []
        /// The root's start tag, which has the namespaces that the responses use.
        var start: [UInt8]?
        var hasEnded = false
        var itself: DAVResource?
    }

    private let name: String?
    private let place: WebDAVPlace
    private let onResource: @Sendable (DAVResource) throws -> Void
    private let state = Mutex(State())

    /// A response has an address and four properties.
    private static let limit = 64 << 10

    /// - Parameter name: of the thing that was asked for, as ``WebDAVPlace/name(of:)`` gives it; nil where nothing else
    ///   was asked for, so that its address does not matter.
    init(itself name: String?, in place: WebDAVPlace, _ onResource: @escaping @Sendable (DAVResource) throws -> Void) {
        self.name = name.map { $0.hasSuffix("/") ? String($0.dropLast()) : $0 }
        self.place = place
        self.onResource = onResource
    }

    func read(_ bytes: UnsafeRawBufferPointer) throws {
        try state.withLock { state in
            state.rest.append(contentsOf: bytes)
            try consume(&state)
        }
    }

    /// What was asked for, after everything has come; nil when it is not in the list.
    ///
    /// - Throws: ``StorageError/Code/serverError`` when the reply was cut.
    func finish() throws(StorageError) -> DAVResource? {
        let state = state.withLock { $0 }
        guard state.hasEnded else {
            throw StorageError(.serverError, "The server's list ends too early: '\(ServerText.excerpt(state.rest))'.")
        }
        return state.itself
    }

    private func consume(_ state: inout State) throws {
        var position = 0
        defer { state.rest.removeFirst(position) }
        while true {
            if state.start == nil {
                guard let tag = Self.tag(in: state.rest[position...], where: { $0.name == "multistatus" }) else {
                    break
                }
                state.start = Array(state.rest[tag.range])
                position = tag.range.upperBound
                state.hasEnded = tag.isEmpty
            }
            guard let start = state.start, !state.hasEnded,
                let tag = Self.tag(
                    in: state.rest[position...],
                    where: { $0.name == "response" || ($0.name == "multistatus" && $0.isEnd) })
            else { break }
            if tag.name == "multistatus" {
                state.hasEnded = true
                position = tag.range.upperBound
                break
            }
            guard !tag.isEnd, !tag.isEmpty,
                let end = Self.tag(in: state.rest[tag.range.upperBound...], where: { $0.name == "response" })
            else { break }
            try take(state.rest[tag.range.lowerBound..<end.range.upperBound], start, &state)
            position = end.range.upperBound
        }
        guard state.rest.count - position <= Self.limit else {
            throw StorageError(.serverError, "The server's list has an entry of more than \(Self.limit) bytes.")
        }
    }

    private func take(_ piece: ArraySlice<UInt8>, _ start: [UInt8], _ state: inout State) throws {
        let root = start.dropFirst().prefix { !Self.endsName($0) }
        let document = start + piece + Array("</".utf8) + root + Array(">".utf8)
        guard let response = try XMLReader.read(document, limit: 2 * Self.limit).children.first else { return }
        let resource = try DAVResource(response, in: place)
        if name == nil || resource.name == name {
            state.itself = state.itself ?? resource
        } else {
            try onResource(resource)
        }
    }

    // MARK: Tags

    private struct Tag {
        /// Without its prefix.
        var name: String
        var range: Range<Int>
        var isEnd: Bool
        /// `<name/>`.
        var isEmpty: Bool
    }

    /// The first whole tag that fits. Text has no `<` of its own in XML; comments and sections of characters are no
    /// part of these replies, and an attribute with a `>` would be found out by the parser.
    private static func tag(in bytes: ArraySlice<UInt8>, where fits: (Tag) -> Bool) -> Tag? {
        var position = bytes.startIndex
        while let open = bytes[position...].firstIndex(of: UInt8(ascii: "<")),
            let close = bytes[open...].firstIndex(of: UInt8(ascii: ">"))
        {
            let isEnd = bytes[open + 1] == UInt8(ascii: "/")
            let name = bytes[(open + (isEnd ? 2 : 1))...].prefix { !endsName($0) }
            let local = name.split(separator: UInt8(ascii: ":"), maxSplits: 1).last ?? []
            let tag = Tag(
                name: String(decoding: local, as: UTF8.self), range: open..<close + 1, isEnd: isEnd,
                isEmpty: bytes[close - 1] == UInt8(ascii: "/"))
            if fits(tag) { return tag }
            position = close + 1
        }
        return nil
    }

    private static func endsName(_ byte: UInt8) -> Bool {
        byte <= 0x20 || byte == UInt8(ascii: ">") || byte == UInt8(ascii: "/")
    }
}
