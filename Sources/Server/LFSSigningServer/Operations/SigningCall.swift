import LFSHTTPStorage
import LFSStorage
import LFSWire

/// An operation on one object for one caller.
struct SigningCall: Sendable {
    let backend: SigningBackend
    let check: AccessCheck
    let tokens: UploadTokens
    let budgets: CallerBudgets
    let work: SigningWork
    let limits: SigningLimits
    let caller: String
    /// The operations that the caller's session may use.
    let rights: SigningRights

    /// The name of the caller in budgets and in the server's own URLs.
    var account: String { NamespaceClaims.shortHash(caller) }

    var signer: any ActionSigner { backend.signer(for: account) }

    /// Performs an operation.
    ///
    /// - Throws: ``WireFailure``, `StorageError`, and errors of the host's rule.
    func run(_ operation: SigningOperation, object: SigningObject) async throws -> SigningAnswer {
        switch operation {
        case .upload: try await upload(object)
        case .parts: try await part(object)
        case .state: try await state(object)
        case .complete: try await complete(object)
        case .abort: try await abort(object)
        case .download: try await download(object)
        case .head: try await head(object)
        case .confirm: try await confirm(object)
        case .delete: try await delete(object)
        case .list: try await list(object)
        }
    }

    // MARK: Objects

    private func download(_ object: SigningObject) async throws -> SigningAnswer {
        let key = try key(object)
        try await requireThere(.read, key: key)
        return .action(try await signer.download(key, expires: limits.expiry), for: .download)
    }

    private func head(_ object: SigningObject) async throws -> SigningAnswer {
        let key = try key(object)
        try await requireThere(.read, key: key)
        return .object(.init(try await backend.objects.storage.head(key)))
    }

    private func confirm(_ object: SigningObject) async throws -> SigningAnswer {
        let key = try key(object)
        let bytes = try announced(object, digests: [.sha256])
        try await requireThere(.read, key: key)
        return .object(try await confirmed(key, bytes: bytes))
    }

    private func delete(_ object: SigningObject) async throws -> SigningAnswer {
        let key = try key(object)
        let verdict = try await check.check(caller, verb: .delete, namespace: key.namespace, key: key)
        if let token = object.upload {
            let ticket = try tokens.ticket(token, caller: caller)
            guard ticket.key == key else {
                throw WireFailure(.invalidRequest, message: "The upload belongs to another key.")
            }
            try await backend.parts?.abort(ticket)
        }
        if case .allowed = verdict { try await backend.objects.delete(key) }
        return .done
    }

    private func list(_ object: SigningObject) async throws -> SigningAnswer {
        let prefix = try object.required(\.prefix, name: "prefix")
        let limit = min(object.limit ?? 1_000, 1_000)
        let halves = prefix.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
        guard halves.count == 2, ObjectKey(listed: halves[0]) != nil else {
            throw WireFailure(.invalidRequest, message: "'prefix' has to begin with a namespace and a '/'.")
        }
        guard halves[1].isEmpty || ObjectKey(listed: prefix.hasSuffix("/") ? prefix + "x" : prefix) != nil else {
            throw WireFailure(.invalidRequest, message: "'prefix' is not the beginning of a key.")
        }
        guard case .allowed = try await check.check(caller, verb: .list, namespace: halves[0], key: nil) else {
            return .page(.init(objects: []))
        }
        let page = try await backend.objects.storage.list(
            ListRequest(prefix: prefix, continuation: object.continuation, limit: Int(limit)))
        // A forged continuation may lead to other keys.
        let objects = page.objects.filter { $0.key.rawValue.hasPrefix(prefix) }
        return .page(.init(objects: objects.map(SigningAnswer.Object.init), next: page.next))
    }

    // MARK: Shared

    /// Returns an object that has the given bytes, according to the store's checksum or because the server has read it.
    /// An object that was announced as these bytes and has others is removed if the caller may write it.
    ///
    /// - Parameter waits: true to wait until the object is read, however long that takes.
    /// - Throws: ``WireFailure/Code/integrity`` if the object has other bytes, ``WireFailure/Code/inProgress``, and
    ///   `StorageError.Code.missing`.
    func confirmed(
        _ key: ObjectKey, bytes: DeclaredContent, waits: Bool = false
    ) async throws -> SigningAnswer.Object {
        switch try await backend.objects.compare(key, with: bytes) {
        case .same(let object): return .init(object)
        case .other:
            try await removeIfWrong(key, bytes: bytes, waits: waits)
            throw Self.other
        case .unknown(let object):
            guard try await sha256(of: object, waits: waits) == bytes.sha256 else { throw Self.other }
            var proven = object
            proven.sha256 = bytes.sha256
            return .init(proven)
        }
    }

    /// Removes an object that differs from what its uploader announced, because it would block the correct object. The
    /// decision is based on reading the object, not on what the caller says.
    private func removeIfWrong(_ key: ObjectKey, bytes: DeclaredContent, waits: Bool) async throws {
        guard rights.permits(.upload), let suspect = try await backend.objects.suspect(key, bytes: bytes),
            try await mayWrite(key), try await sha256(of: suspect, waits: waits) != bytes.sha256
        else { return }
        try await backend.objects.remove(suspect)
    }

    private func mayWrite(_ key: ObjectKey) async throws -> Bool {
        do {
            guard case .allowed = try await check.check(caller, verb: .write, namespace: key.namespace, key: key) else {
                return false
            }
            return true
        } catch let failure as WireFailure where failure.code == .forbidden {
            return false
        }
    }

    /// Returns the SHA-256 of an object by reading it. The caller is charged, unless the object was read before or is
    /// being read.
    func sha256(of object: RemoteObject, waits: Bool) async throws -> String {
        try await work.sha256(of: object, waits: waits) {
            try budgets.open(object.byteCount, caller: account)
        } _: { [objects = backend.objects] in
            try await objects.sha256(of: object)
        }
    }

    static var other: WireFailure {
        WireFailure(.integrity, message: "The store has different content under this key.")
    }

    func key(_ object: SigningObject) throws -> ObjectKey {
        let key = try ObjectKey(try object.required(\.key, name: "key"))
        guard key.rawValue.contains("/") else {
            throw WireFailure(.invalidKey, message: "A key needs a namespace, a '/' and a name.")
        }
        return key
    }

    /// Returns the announced bytes of an object.
    ///
    /// - Parameter digests: the digests that the object must name.
    func announced(
        _ object: SigningObject, digests: [SigningDescription.Digest]
    ) throws(WireFailure) -> DeclaredContent {
        if digests.contains(.md5) { _ = try object.required(\.md5, name: "md5") }
        return DeclaredContent(
            byteCount: try object.required(\.size, name: "size"), sha256: try object.required(\.sha256, name: "sha256"),
            md5: object.md5, contentType: object.type)
    }

    private func requireThere(_ verb: SigningAccess.Question.Verb, key: ObjectKey) async throws {
        guard case .allowed = try await check.check(caller, verb: verb, namespace: key.namespace, key: key) else {
            throw WireFailure(.missing, message: "There is no such object.")
        }
    }
}

extension ObjectKey {
    /// The first segment of the key.
    var namespace: String { String(rawValue.prefix { $0 != "/" }) }
}

extension SigningAnswer.Object {
    init(_ object: RemoteObject) {
        self.init(
            key: object.key.rawValue, size: object.byteCount, sha256: object.sha256, entityTag: object.entityTag)
    }
}
