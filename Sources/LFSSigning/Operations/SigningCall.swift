import LFSHTTPStorage
import LFSStorage
import LFSWire

/// One operation on one object, for one caller.
struct SigningCall: Sendable {
    let backend: SigningBackend
    let check: AccessCheck
    let tokens: UploadTokens
    let budgets: CallerBudgets
    let work: SigningWork
    let limits: SigningLimits
    let caller: String

    /// The caller in budgets and in the server's own URLs.
    var account: String { NamespaceClaims.shortHash(caller) }

    var signer: any ActionSigner { backend.signer(for: account) }

    /// - Throws: ``WireFailure``, `StorageError`, what the host's rule throws.
    func run(_ operation: SigningOperation, _ object: SigningObject) async throws -> SigningAnswer {
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
        try await requireThere(.read, key)
        return .action(try await signer.download(key, expires: limits.expiry), for: .download)
    }

    private func head(_ object: SigningObject) async throws -> SigningAnswer {
        let key = try key(object)
        try await requireThere(.read, key)
        return .object(.init(try await backend.objects.storage.head(key)))
    }

    private func confirm(_ object: SigningObject) async throws -> SigningAnswer {
        let key = try key(object)
        let bytes = try announced(object, [.sha256])
        try await requireThere(.read, key)
        return .object(try await confirmed(key, bytes))
    }

    private func delete(_ object: SigningObject) async throws -> SigningAnswer {
        let key = try key(object)
        let verdict = try await check.check(caller, .delete, key.namespace, key)
        if let token = object.upload {
            let ticket = try tokens.ticket(token, caller: caller)
            guard ticket.key == key else {
                throw WireFailure(.invalidRequest, "The upload is one of another key.")
            }
            try await backend.parts?.abort(ticket)
        }
        if case .allowed = verdict { try await backend.objects.delete(key) }
        return .done
    }

    private func list(_ object: SigningObject) async throws -> SigningAnswer {
        let prefix = try object.required(\.prefix, "prefix")
        let limit = min(object.limit ?? 1_000, 1_000)
        let halves = prefix.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
        guard halves.count == 2, ObjectKey(listed: halves[0]) != nil else {
            throw WireFailure(.invalidRequest, "'prefix' has to begin with a namespace and a '/'.")
        }
        guard halves[1].isEmpty || ObjectKey(listed: prefix.hasSuffix("/") ? prefix + "x" : prefix) != nil else {
            throw WireFailure(.invalidRequest, "'prefix' is not the beginning of a key.")
        }
        guard case .allowed = try await check.check(caller, .list, halves[0], nil) else {
            return .page(.init(objects: []))
        }
        let page = try await backend.objects.storage.list(
            ListRequest(prefix: prefix, continuation: object.continuation, limit: Int(limit)))
        // Whatever a continuation that somebody has made up may lead to.
        let objects = page.objects.filter { $0.key.rawValue.hasPrefix(prefix) }
        return .page(.init(objects: objects.map(SigningAnswer.Object.init), next: page.next))
    }

    // MARK: What all share

    /// An object that has these bytes, by the store's own word, or because the server has read it.
    ///
    /// - Parameter waits: whether to wait for the end of reading, however long it takes.
    /// - Throws: ``WireFailure/Code/integrity`` when it has others, ``WireFailure/Code/inProgress``,
    ///   `StorageError.Code.missing`.
    func confirmed(
        _ key: ObjectKey, _ bytes: AnnouncedBytes, waits: Bool = false
    ) async throws -> SigningAnswer.Object {
        switch try await backend.objects.compare(key, with: bytes) {
        case .same(let object): return .init(object)
        case .other: throw Self.other
        case .unknown(let object):
            guard try await sha256(of: object, waits: waits) == bytes.sha256 else { throw Self.other }
            var proven = object
            proven.sha256 = bytes.sha256
            return .init(proven)
        }
    }

    /// By reading it, which is charged to the caller unless it was read before or is read now.
    func sha256(of object: RemoteObject, waits: Bool) async throws -> String {
        try await work.sha256(of: object, waits: waits) {
            try budgets.open(object.byteCount, caller: account)
        } _: { [objects = backend.objects] in
            try await objects.sha256(of: object)
        }
    }

    static var other: WireFailure {
        WireFailure(.integrity, "The store has something else under this key.")
    }

    func key(_ object: SigningObject) throws -> ObjectKey {
        let key = try ObjectKey(try object.required(\.key, "key"))
        guard key.rawValue.contains("/") else {
            throw WireFailure(.invalidKey, "A key has a namespace, a '/' and a name.")
        }
        return key
    }

    /// - Parameter digests: what it has to name.
    func announced(
        _ object: SigningObject, _ digests: [SigningDescription.Digest]
    ) throws(WireFailure) -> AnnouncedBytes {
        if digests.contains(.md5) { _ = try object.required(\.md5, "md5") }
        return AnnouncedBytes(
            byteCount: try object.required(\.size, "size"), sha256: try object.required(\.sha256, "sha256"),
            md5: object.md5, contentType: object.type)
    }

    private func requireThere(_ verb: SigningAccess.Question.Verb, _ key: ObjectKey) async throws {
        guard case .allowed = try await check.check(caller, verb, key.namespace, key) else {
            throw WireFailure(.missing, "There is no such object.")
        }
    }
}

extension ObjectKey {
    /// The first segment.
    var namespace: String { String(rawValue.prefix { $0 != "/" }) }
}

extension SigningAnswer.Object {
    init(_ object: RemoteObject) {
        self.init(
            key: object.key.rawValue, size: object.byteCount, sha256: object.sha256, entityTag: object.entityTag)
    }
}
