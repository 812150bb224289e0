import Foundation
import LFSHTTP
import LFSHTTPStorage
import LFSStorage
import Synchronization

extension HTTPRequest.Method {
    // RFC 4918, section 9.
    static let propfind = HTTPRequest.Method(rawValue: "PROPFIND")
    static let mkcol = HTTPRequest.Method(rawValue: "MKCOL")
    static let move = HTTPRequest.Method(rawValue: "MOVE")
}

/// A client for one folder that authenticates requests, sends them, and interprets the replies. It retries a request
/// only once, with new credentials, if the server refused the old ones.
struct WebDAVClient: Sendable {
    let place: WebDAVPlace
    private let transport: any HTTPTransport
    private let logins: CredentialsCache<WebDAVLogin>
    private let folders = KnownFolders()

    init(_ place: WebDAVPlace, transport: any HTTPTransport, credentials: WebDAVCredentials) {
        self.place = place
        self.transport = transport
        logins = CredentialsCache { try await credentials.login() }
    }

    func requireCredentials() async throws { _ = try await logins.credentials() }

    /// - Throws: ``WebDAVFailure`` for any status but 2xx, and ``StorageError`` for a reply that arrived before the
    ///   server had read the request.
    func send(_ request: HTTPRequest, about key: ObjectKey?) async throws -> HTTPResponse {
        let issued = try await logins.current()
        do {
            return try await sendOnce(request, login: issued.credentials, key: key)
        } catch let failure as WebDAVFailure where failure.status == 401 {
            logins.invalidate(issued)
            let newer = try await logins.credentials()
            // The same credentials would be refused again.
            guard newer != issued.credentials else { throw failure }
            return try await sendOnce(request, login: newer, key: key)
        }
    }

    private func sendOnce(_ request: HTTPRequest, login: WebDAVLogin, key: ObjectKey?) async throws -> HTTPResponse {
        var request = request
        if let field = login.field { try request.headers.set("authorization", value: field) }
        let response = try await transport.send(request)
        guard response.head.isSuccess else {
            throw WebDAVFailure(response, key: key, hasCondition: request.headers.hasCondition)
        }
        try response.requireWhole(request.body, of: key)
        return response
    }

    func request(_ method: HTTPRequest.Method, path: String) -> HTTPRequest {
        HTTPRequest(method, origin: place.origin, target: path)
    }

    // MARK: Single steps

    /// Returns the server's description of an object. A status alone is not reliable: a sign-in page answers every
    /// request with 200, and a proxy may answer 404.
    ///
    /// - Parameter path: the path of the object, if it is not in its final place.
    /// - Throws: ``StorageError/Code/missing`` when the server itself reports that it does not exist, or has a folder
    ///   in its place.
    func describe(_ key: ObjectKey, at path: String? = nil) async throws -> DAVResource {
        guard let found = try await find(path ?? place.path(of: key), about: key), !found.isFolder else {
            throw StorageError(.missing, message: "There is no object '\(key)'.", key: key)
        }
        return found
    }

    /// Returns the resource at a path. nil if the server itself reports that it does not exist.
    private func find(_ path: String, about key: ObjectKey) async throws -> DAVResource? {
        do {
            let found = try await properties(of: path, depth: 0, about: key) { _ in }
            return found.isGone ? nil : found
        } catch let failure as WebDAVFailure where failure.isMissing {
            try await requireRoot()
            return nil
        }
    }

    /// Returns an object in its final place.
    func object(_ key: ObjectKey) async throws -> RemoteObject {
        guard let object = try await describe(key).object(key, at: place) else {
            throw StorageError(.serverError, message: "The server does not report the size.", key: key)
        }
        return object
    }

    /// Deletes a file. A missing file is a success if the server itself reports it.
    ///
    /// A folder is never deleted, because the server would delete its content as well (RFC 4918, section 9.6.1). A
    /// folder in the place of a key was created by another program.
    func remove(_ path: String, of key: ObjectKey) async throws {
        guard let found = try await find(path, about: key), !found.isFolder else { return }
        do {
            let response = try await send(request(.delete, path: path), about: key)
            if response.status == 204 { return }
            // Any other status may come from a page that answers 200 to everything, or report parts that were not
            // deleted.
            guard try await find(path, about: key) != nil else { return }
            throw StorageError(
                .serverError,
                message: "The server answered \(response.status) to a deletion, but the object still exists.",
                key: key
            )
        } catch let failure as WebDAVFailure where failure.isMissing {
            try await requireRoot()
        }
    }

    /// - Throws: ``StorageError/Code/invalidKey`` when a folder is in an object's place. A MOVE that replaces it would
    ///   delete its content as well (RFC 4918, section 9.9.3).
    func requireNoFolder(_ key: ObjectKey) async throws {
        if try await find(place.path(of: key), about: key)?.isFolder == true {
            throw StorageError(.invalidKey, message: "The key '\(key)' names a folder on the server.", key: key)
        }
    }

    /// Creates the folders on the path of an object, except for those that are known to exist.
    ///
    /// - Parameter again: true to include the known folders.
    func makeFolders(of key: ObjectKey, again: Bool = false) async throws {
        for folder in place.folders(of: key) where again || !folders.has(folder) {
            do {
                _ = try await send(request(.mkcol, path: folder), about: nil)
            } catch let failure as WebDAVFailure where failure.status == 405 {
                // 405: the folder already exists (RFC 4918, section 9.3.1).
            } catch let failure as WebDAVFailure {
                // If two clients create a folder at once, one of them may be refused with any status.
                guard try await find(folder, about: key)?.isFolder == true else { throw failure }
            }
            folders.add(folder)
        }
    }

    /// Creates the folder of the storage.
    ///
    /// - Returns: false if it exists.
    func makeRoot() async throws -> Bool {
        do {
            _ = try await send(request(.mkcol, path: place.root), about: nil)
            return true
        } catch let failure as WebDAVFailure where failure.status == 405 {
            // 405: the folder already exists (RFC 4918, section 9.3.1).
            return false
        } catch let failure as WebDAVFailure where failure.status == 409 || failure.isMissing {
            // 409: the parent folder does not exist.
            throw StorageError(
                .misconfigured,
                message: "The parent of the folder does not exist on the server. Check the URL, or create the parent.",
                cause: failure)
        }
    }

    /// Moves a file to its final place.
    ///
    /// - Returns: true if the file is in its place. false if the place is taken and must not be replaced.
    func move(_ path: String, to key: ObjectKey, replaces: Bool) async throws -> Bool {
        var move = request(.move, path: path)
        try move.headers.set("destination", value: place.address(place.path(of: key)))
        try move.headers.set("overwrite", value: replaces ? "T" : "F")
        do {
            let response = try await send(move, about: key)
            guard response.status == 201 || response.status == 204 else {
                throw StorageError(
                    .serverError, message: "The server answered \(response.status) to a MOVE, which moves nothing.",
                    key: key)
            }
            return true
        } catch let failure as WebDAVFailure where failure.status == 412 && !replaces {
            return false
        } catch let failure as WebDAVFailure where failure.status == 400 && !replaces {
            // One server answers 400 instead of 412.
            _ = try await describe(key)
            return false
        }
    }

    /// Lists a folder, or describes one resource.
    ///
    /// - Parameters:
    ///   - depth: 0 for the resource itself, 1 to include the content of a folder (RFC 4918, section 10.2).
    ///   - onResource: receives all other resources as they arrive.
    /// - Returns: the resource itself.
    /// - Throws: ``StorageError/Code/misconfigured`` when the server does not list the resource itself.
    func properties(
        of path: String, depth: Int, about key: ObjectKey?,
        _ onResource: @escaping @Sendable (DAVResource) throws -> Void
    ) async throws -> DAVResource {
        let reader = MultistatusReader(itself: depth == 0 ? nil : place.name(of: path), in: place, onResource)
        var find = request(.propfind, path: path)
        try find.headers.set("depth", value: String(depth))
        try find.headers.set("content-type", value: "application/xml; charset=utf-8")
        find.body = .bytes(Self.wanted)
        find.reply = .sink({ try reader.read($0) }, accept: { $0.status == 207 })
        let response = try await send(find, about: key)
        guard response.status == 207 else {
            throw StorageError(
                .unreachable,
                message: "The server answered \(response.status) to PROPFIND. Does it speak WebDAV at that URL?",
                key: key)
        }
        guard let itself = try reader.finish() else {
            throw StorageError(
                .misconfigured,
                message: """
                    The server lists files at other addresses than the requested ones: write the address that it uses \
                    itself, or correct the proxy in front of it.
                    """, key: key)
        }
        return itself
    }

    private static let wanted = Array(
        """
        <?xml version="1.0" encoding="utf-8"?><propfind xmlns="DAV:"><prop><resourcetype/><getcontentlength/>\
        <getetag/><getlastmodified/></prop></propfind>
        """.utf8)

    // MARK: Verification of a 404

    /// Verifies a 404. It is reliable only if the server has the storage's folder.
    ///
    /// - Throws: ``StorageError/Code/misconfigured`` when the folder of the URL does not exist.
    func requireRoot() async throws {
        do {
            guard try await properties(of: place.root, depth: 0, about: nil, { _ in }).isFolder else {
                throw StorageError(.misconfigured, message: "There is no folder at \(place.address(place.root)).")
            }
        } catch let failure as WebDAVFailure where failure.isMissing {
            throw StorageError(
                .misconfigured, message: "There is no folder at \(place.address(place.root)): create it first.",
                cause: failure)
        }
    }
}

/// The folders that are known to exist. The mutex owns the state.
private final class KnownFolders: Sendable {
    private let paths = Mutex<Set<String>>([])

    func has(_ path: String) -> Bool { paths.withLock { $0.contains(path) } }

    func add(_ path: String) {
        paths.withLock { paths in
            if paths.count >= 1_024 { paths.removeAll() }
            paths.insert(path)
        }
    }
}
