import Foundation
import LFSHTTPStorage
import LFSStorage
import LFSSystem

/// What a server says of a file or a folder: one `response` of a `multistatus` (RFC 4918, 14.24).
struct DAVResource: Sendable {
    /// Its path below the storage's folder, decoded, without a slash at its end; nil for what is elsewhere.
    let name: String?
    let isFolder: Bool
    /// Whether the server says of this one that there is none.
    let isGone: Bool
    /// nil where the server names none.
    let byteCount: Int64?
    let entityTag: EntityTag?
    let modified: Date?

    /// - Throws: ``StorageError/Code/serverError`` when there is no `href`, or a number that makes no sense.
    init(_ response: ReplyElement, in place: WebDAVPlace) throws(StorageError) {
        guard let href = response.first("href")?.text.trimmingCharacters(in: .whitespacesAndNewlines), !href.isEmpty
        else { throw StorageError(.serverError, "The server lists something without an address.") }
        var name = place.name(of: href)
        while name?.hasSuffix("/") == true { name?.removeLast() }
        self.name = name
        let status = response.first("status")?.text ?? " 200"
        isGone = status.contains(" 404") || status.contains(" 410")
        guard isGone || status.contains(" 200") else {
            throw StorageError(
                .serverError, "The server says '\(ServerText.excerpt(status))' of '\(ServerText.excerpt(href))'.")
        }
        let found = response.named("propstat")
            // The others name what the server does not have.
            .filter { ($0.first("status")?.text ?? " 200").contains(" 200") }
            .compactMap { $0.first("prop") }
        func property(_ name: String) -> ReplyElement? { found.lazy.compactMap { $0.first(name) }.first }
        isFolder = property("resourcetype")?.first("collection") != nil
        let size = property("getcontentlength")?.text.trimmingCharacters(in: .whitespacesAndNewlines) ?? ""
        byteCount = Int64(size)
        guard size.isEmpty || (size.utf8.allSatisfy(\.isDigit) && byteCount != nil) else {
            throw StorageError(.serverError, "The server tells a size of '\(ServerText.excerpt(size))'.")
        }
        entityTag = property("getetag").flatMap { EntityTag($0.text) }
        modified = property("getlastmodified").flatMap { HTTPDate.parse($0.text) }
    }

    /// The object that its name says it is; nil for folders, for unfinished uploads and for what is not ours.
    func object(in place: WebDAVPlace) -> RemoteObject? {
        name.flatMap(ObjectKey.init(listed:)).flatMap { object($0, at: place) }
    }

    /// The object of that key, whatever its name; nil when it is none, or when its size is not told.
    func object(_ key: ObjectKey, at place: WebDAVPlace) -> RemoteObject? {
        guard !isFolder, !isGone, let byteCount else { return nil }
        return RemoteObject(key: key, byteCount: byteCount, entityTag: entityTag?.text, url: place.url(of: key))
    }
}

/// Names without their prefix: servers choose one of their own for the namespace `DAV:`.
extension ReplyElement {
    fileprivate var localName: Substring { name.split(separator: ":", maxSplits: 1).last ?? "" }

    fileprivate func named(_ name: String) -> [ReplyElement] { children.filter { $0.localName == name } }

    fileprivate func first(_ name: String) -> ReplyElement? { children.first { $0.localName == name } }
}
