public import LFSSigningServer
public import LFSSyncServer

extension SigningRights {
    /// Returns the operations that the session of a token may use.
    ///
    /// - Parameter rights: the rights of the session, as `SyncService.access(ofToken:)` returns them.
    public init(_ rights: SyncSessionRights) {
        let hasFiles = rights.types?.contains("File") ?? true
        self = !hasFiles ? .none : rights.isReadOnly ? .reading : .all
    }
}

extension SigningAccess {
    /// Extends `claimedNamespaces` so that an account can read the objects of files that others share with it. The
    /// account has access as long as it sees a row of the owner with the key. A signed URL stays valid until it
    /// expires.
    ///
    /// - Parameter sync: the service of the callers' accounts, as `SyncService.access(ofToken:)` names them.
    public static func sharedFiles(_ sync: SyncService) -> SigningAccess {
        .claimedNamespaces(lending: { question in
            guard question.verb == .read, let key = question.key else { return nil }
            return try await sync.owner(ofObject: key, readableBy: question.caller)
        })
    }
}
