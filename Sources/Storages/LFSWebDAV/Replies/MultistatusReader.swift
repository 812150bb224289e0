import LFSHTTPStorage
import LFSStorage
import LFSSystem
import Synchronization

/// A streaming parser of a `multistatus` (RFC 4918, section 14.16). It parses response by response, so the memory use
/// does not depend on the number of files in a folder.
///
/// The mutex owns the state. One reply writes to it, piece by piece.
final class MultistatusReader: Sendable {
    fileprivate struct State {
        /// The bytes that have arrived and are not parsed yet.
        var rest: [UInt8] = []
        /// The number of these bytes that were searched for tags. No byte is searched twice, however small the pieces
        /// are.
        var scanned = 0
        /// The start of a tag whose end has not arrived yet.
        var tagStart: Int?
        /// The start of a response whose end has not arrived yet.
        var responseStart: Int?
        /// The start tag of the root, which declares the namespaces of the responses.
        var start: [UInt8]?
        var hasEnded = false
        var itself: DAVResource?
    }

    private let name: String?
    private let place: WebDAVPlace
    private let onResource: @Sendable (DAVResource) throws -> Void
    private let state = Mutex(State())

    /// The maximum size of a response in bytes. It has an address and four properties.
    private static let limit = 64 << 10

    /// - Parameter name: the name of the requested resource, from ``WebDAVPlace/name(of:)``. nil if the reply describes
    ///   only that resource, so that its address does not matter.
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

    /// Returns the requested resource after the whole reply has arrived. nil if the list does not contain it.
    ///
    /// - Throws: ``StorageError/Code/serverError`` when the reply was truncated.
    func finish() throws(StorageError) -> DAVResource? {
        let state = state.withLock { $0 }
        guard state.hasEnded else {
            throw StorageError(
                .serverError, message: "The server's list ends too early: '\(SanitizedErrorText.excerpt(state.rest))'.")
        }
        return state.itself
    }

    private func consume(_ state: inout State) throws {
        // The end of the parsed bytes.
        var position = 0
        defer { state.removeFirst(position) }
        while !state.hasEnded, let tag = state.nextTag() {
            switch (state.start, state.responseStart, tag.name) {
            case (nil, _, "multistatus"):
                state.start = Array(state.rest[tag.range])
                state.hasEnded = tag.isEmpty
                position = tag.range.upperBound
            case (_?, nil, "multistatus") where tag.isEnd:
                state.hasEnded = true
                position = tag.range.upperBound
            case (_?, nil, "response"):
                guard !tag.isEnd, !tag.isEmpty else {
                    throw StorageError(.serverError, message: "The server's list has an entry without an address.")
                }
                state.responseStart = tag.range.lowerBound
            case (let start?, let first?, "response"):
                try take(state.rest[first..<tag.range.upperBound], start: start, state: &state)
                state.responseStart = nil
                position = tag.range.upperBound
            default: break
            }
        }
        guard state.rest.count - position <= Self.limit else {
            throw StorageError(
                .serverError, message: "The server's list has an entry of more than \(Self.limit) bytes.")
        }
    }

    private func take(_ piece: ArraySlice<UInt8>, start: [UInt8], state: inout State) throws {
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

    fileprivate struct Tag {
        /// The name without its prefix.
        var name: String
        var range: Range<Int>
        var isEnd: Bool
        /// True for `<name/>`.
        var isEmpty: Bool
    }

    fileprivate static func endsName(_ byte: UInt8) -> Bool {
        byte <= 0x20 || byte == UInt8(ascii: ">") || byte == UInt8(ascii: "/")
    }
}

extension MultistatusReader.State {
    /// Returns the next complete tag, or nil if it has not arrived yet.
    ///
    /// In XML, text contains no `<`. These replies contain no comments and no CDATA sections. The parser detects an
    /// attribute that contains a `>`.
    fileprivate mutating func nextTag() -> MultistatusReader.Tag? {
        if tagStart == nil {
            tagStart = rest[scanned...].firstIndex(of: UInt8(ascii: "<"))
            scanned = tagStart.map { $0 + 1 } ?? rest.count
        }
        guard let open = tagStart else { return nil }
        guard let close = rest[scanned...].firstIndex(of: UInt8(ascii: ">")) else {
            scanned = rest.count
            return nil
        }
        tagStart = nil
        scanned = close + 1
        let isEnd = rest[open + 1] == UInt8(ascii: "/")
        let name = rest[(open + (isEnd ? 2 : 1))...].prefix { !MultistatusReader.endsName($0) }
        let local = name.split(separator: UInt8(ascii: ":"), maxSplits: 1).last ?? []
        return MultistatusReader.Tag(
            name: String(decoding: local, as: UTF8.self), range: open..<close + 1, isEnd: isEnd,
            isEmpty: rest[close - 1] == UInt8(ascii: "/"))
    }

    /// Drops the parsed bytes.
    fileprivate mutating func removeFirst(_ count: Int) {
        if count == 0 { return }
        rest.removeFirst(count)
        scanned -= count
        tagStart = tagStart.map { $0 - count }
        responseStart = responseStart.map { $0 - count }
    }
}
