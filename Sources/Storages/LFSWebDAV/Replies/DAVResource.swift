import Foundation
import LFSHTTPStorage
import LFSStorage
import LFSSystem

/// The server's description of a file or a folder: one `response` of a `multistatus` (RFC 4918, section 14.24).
struct DAVResource: Sendable {
    /// The decoded path below the storage's folder, without a trailing slash. nil for a path elsewhere.
    let name: String?
    let isFolder: Bool
    /// True if the server reports that this resource does not exist.
    let isGone: Bool
    /// nil if the server reports no size.
    let byteCount: Int64?
    let entityTag: EntityTag?
    let modified: Date?

    /// - Throws: ``StorageError/Code/serverError`` when `href` is missing, or a number is invalid.
    init(_ response: ReplyElement, in place: WebDAVPlace) throws(StorageError) {
        guard let href = response.first("href")?.text.trimmingCharacters(in: .whitespacesAndNewlines), !href.isEmpty
        else { throw StorageError(.serverError, message: "The server lists an entry without an address.") }
        var name = place.name(of: href)
        while name?.hasSuffix("/") == true { name?.removeLast() }
        self.name = name
        let status = response.first("status")?.text ?? " 200"
        isGone = status.contains(" 404") || status.contains(" 410")
        guard isGone || status.contains(" 200") else {
            throw StorageError(
                .serverError,
                message:
                    "The server says '\(SanitizedErrorText.excerpt(status))' for '\(SanitizedErrorText.excerpt(href))'."
            )
        }
        let found = response.named("propstat")
            // The other `propstat` elements name properties that the server does not have.
            .filter { ($0.first("status")?.text ?? " 200").contains(" 200") }
            .compactMap { $0.first("prop") }
        func property(_ name: String) -> ReplyElement? { found.lazy.compactMap { $0.first(name) }.first }
        isFolder = property("resourcetype")?.first("collection") != nil
        let size = property("getcontentlength")?.text.trimmingCharacters(in: .whitespacesAndNewlines) ?? ""
        byteCount = Int64(size)
        guard size.isEmpty || (size.utf8.allSatisfy(\.isDigit) && byteCount != nil) else {
            throw StorageError(
                .serverError, message: "The server reports a size of '\(SanitizedErrorText.excerpt(size))'.")
        }
        entityTag = property("getetag").flatMap { EntityTag($0.text) }
        modified = property("getlastmodified").flatMap { HTTPDate.parse($0.text) }
    }

    /// Returns the object whose key is the resource's name. nil for folders, temporary files and files of other
    /// programs.
    func object(in place: WebDAVPlace) -> RemoteObject? {
        name.flatMap(ObjectKey.init(listed:)).flatMap { object($0, at: place) }
    }

    /// Returns the object with that key, whatever the resource's name. nil if it is not a file, or has no reported
    /// size.
    func object(_ key: ObjectKey, at place: WebDAVPlace) -> RemoteObject? {
        guard !isFolder, !isGone, let byteCount else { return nil }
        return RemoteObject(key: key, byteCount: byteCount, entityTag: entityTag?.text, url: place.url(of: key))
    }
}

/// Finds elements by their names without prefix, because servers choose the prefix of the namespace `DAV:`.
extension ReplyElement {
    fileprivate var localName: Substring { name.split(separator: ":", maxSplits: 1).last ?? "" }

    fileprivate func named(_ name: String) -> [ReplyElement] { children.filter { $0.localName == name } }

    fileprivate func first(_ name: String) -> ReplyElement? { children.first { $0.localName == name } }
}
