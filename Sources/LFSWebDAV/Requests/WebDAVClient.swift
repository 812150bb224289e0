import Foundation
import LFSHTTP
import LFSHTTPStorage
import LFSStorage
import Synchronization

extension HTTPRequest.Method {
    // RFC 4918, 9.
    static let propfind = HTTPRequest.Method(rawValue: "PROPFIND")
    static let mkcol = HTTPRequest.Method(rawValue: "MKCOL")
    static let move = HTTPRequest.Method(rawValue: "MOVE")
}

/// Sends requests to one folder with the credentials, and judges the replies. Nothing is retried here but a request
/// whose credentials were refused, once, with newer ones.
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

    /// - Throws: ``WebDAVFailure`` for any status but 2xx, and for a reply that came before the request was read.
    func send(_ request: HTTPRequest, about key: ObjectKey?) async throws -> HTTPResponse {
        let issued = try await logins.current()
        do {
            return try await sendOnce(request, issued.credentials, key)
        } catch let failure as WebDAVFailure where failure.status == 401 {
            logins.invalidate(issued)
            let newer = try await logins.credentials()
            // The same would be refused again.
            guard newer != issued.credentials else { throw failure }
            return try await sendOnce(request, newer, key)
        }
    }

    private func sendOnce(_ request: HTTPRequest, _ login: WebDAVLogin, _ key: ObjectKey?) async throws -> HTTPResponse
    {
        var request = request
        if let field = login.field { try request.headers.set("authorization", field) }
        let response = try await transport.send(request)
        guard response.head.isSuccess else { throw WebDAVFailure(response, key: key) }
        try response.requireWhole(request.body, of: key)
        return response
    }

    func request(_ method: HTTPRequest.Method, _ path: String) -> HTTPRequest {
        HTTPRequest(method, place.origin, path)
    }

    // MARK: Single steps

    /// What the server says of an object. A status alone says nothing: a sign-in page answers 200 to everything, and a
    /// proxy 404.
    ///
    /// - Parameter path: where it is, if not in its place.
    /// - Throws: ``StorageError/Code/missing``, when the server itself has none, or a folder in its place.
    func describe(_ key: ObjectKey, at path: String? = nil) async throws -> DAVResource {
        guard let found = try await find(path ?? place.path(of: key), about: key), !found.isFolder else {
            throw StorageError(.missing, "There is no object '\(key)'.", key: key)
        }
        return found
    }

    /// What is at a path; nil when the server itself has nothing there.
    private func find(_ path: String, about key: ObjectKey) async throws -> DAVResource? {
        do {
            let found = try await properties(of: path, depth: 0, about: key) { _ in }
            return found.isGone ? nil : found
        } catch let failure as WebDAVFailure where failure.isMissing {
            try await requireRoot()
            return nil
        }
    }

    /// An object in its place.
    func object(_ key: ObjectKey) async throws -> RemoteObject {
        guard let object = try await describe(key).object(key, at: place) else {
            throw StorageError(.serverError, "The server does not tell the size.", key: key)
        }
        return object
    }

    /// Removes a file. Nothing there is a success, if the server itself says so.
    ///
    /// A folder is never removed: all that is in it would go with it (RFC 4918, 9.6.1), and a key that names one was
    /// made by somebody else.
    func remove(_ path: String, of key: ObjectKey) async throws {
        guard let found = try await find(path, about: key), !found.isFolder else { return }
        do {
            let response = try await send(request(.delete, path), about: key)
            if response.status == 204 { return }
            // Anything else may come from a page that says 200 to everything, or tell of parts that are there still.
            guard try await find(path, about: key) != nil else { return }
            throw StorageError(
                .serverError, "The server answered \(response.status) to a deletion, and the object is there.", key: key
            )
        } catch let failure as WebDAVFailure where failure.isMissing {
            try await requireRoot()
        }
    }

    /// - Throws: ``StorageError/Code/invalidKey`` when a folder is in an object's place: a MOVE that replaces would
    ///   remove it with all that is in it (RFC 4918, 9.9.3).
    func requireNoFolder(_ key: ObjectKey) async throws {
        if try await find(place.path(of: key), about: key)?.isFolder == true {
            throw StorageError(.invalidKey, "The key '\(key)' names a folder on the server.", key: key)
        }
    }

    /// Makes the folders that lead to an object, where they were not seen before.
    ///
    /// - Parameter again: whether to look also at those that were.
    func makeFolders(of key: ObjectKey, again: Bool = false) async throws {
        for folder in place.folders(of: key) where again || !folders.has(folder) {
            do {
                _ = try await send(request(.mkcol, folder), about: nil)
            } catch let failure as WebDAVFailure where failure.status == 405 {
                // It is there.
            } catch let failure as WebDAVFailure {
                // Of two that make it at once one may be refused in words of any kind.
                guard try await find(folder, about: key)?.isFolder == true else { throw failure }
            }
            folders.add(folder)
        }
    }

    /// Moves a file into its place.
    ///
    /// - Returns: whether it is there now; false when something else is, and must not be replaced.
    func move(_ path: String, to key: ObjectKey, replaces: Bool) async throws -> Bool {
        var move = request(.move, path)
        try move.headers.set("destination", place.address(place.path(of: key)))
        try move.headers.set("overwrite", replaces ? "T" : "F")
        do {
            let response = try await send(move, about: key)
            guard response.status == 201 || response.status == 204 else {
                throw StorageError(
                    .serverError, "The server answered \(response.status) to a MOVE, which moves nothing.", key: key)
            }
            return true
        } catch let failure as WebDAVFailure where failure.status == 412 && !replaces {
            return false
        } catch let failure as WebDAVFailure where failure.status == 400 && !replaces {
            // One server's word for 412.
            _ = try await describe(key)
            return false
        }
    }

    /// Lists a folder, or describes one thing.
    ///
    /// - Parameters:
    ///   - depth: 0 for the thing itself, 1 for what is in it as well (RFC 4918, 10.2).
    ///   - onResource: takes everything but the thing itself, as it comes.
    /// - Returns: the thing itself.
    /// - Throws: ``StorageError/Code/misconfigured`` when the server does not name it.
    func properties(
        of path: String, depth: Int, about key: ObjectKey?,
        _ onResource: @escaping @Sendable (DAVResource) throws -> Void
    ) async throws -> DAVResource {
        let reader = MultistatusReader(itself: depth == 0 ? nil : place.name(of: path), in: place, onResource)
        var find = request(.propfind, path)
        try find.headers.set("depth", String(depth))
        try find.headers.set("content-type", "application/xml; charset=utf-8")
        find.body = .bytes(Self.wanted)
        find.reply = .sink({ try reader.read($0) }, accept: { $0.status == 207 })
        let response = try await send(find, about: key)
        guard response.status == 207 else {
            throw StorageError(
                .unreachable, "The server answered \(response.status) to PROPFIND. Does it speak WebDAV at that URL?",
                key: key)
        }
        guard let itself = try reader.finish() else {
            throw StorageError(
                .misconfigured,
                """
                The server lists things at other addresses than they were asked for at: write the address that it \
                uses itself, or mend the proxy before it.
                """, key: key)
        }
        return itself
    }

    private static let wanted = Array(
        """
        <?xml version="1.0" encoding="utf-8"?><propfind xmlns="DAV:"><prop><resourcetype/><getcontentlength/>\
        <getetag/><getlastmodified/></prop></propfind>
        """.utf8)

    // MARK: Who has answered

    /// What a 404 is worth: the server itself has nothing only if it has the folder that everything is in.
    ///
    /// - Throws: ``StorageError/Code/misconfigured`` when the folder of the URL is not there.
    func requireRoot() async throws {
        do {
            guard try await properties(of: place.root, depth: 0, about: nil, { _ in }).isFolder else {
                throw StorageError(.misconfigured, "There is no folder at \(place.address(place.root)).")
            }
        } catch let failure as WebDAVFailure where failure.isMissing {
            throw StorageError(
                .misconfigured, "There is no folder at \(place.address(place.root)): make it first.", cause: failure)
        }
    }
}

/// Folders that are there. Owner of its state: the mutex.
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
