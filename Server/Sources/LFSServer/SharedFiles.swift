public import LFSSigning
public import LFSSyncServer

extension SigningAccess {
    /// As `claimedNamespaces`, and an account reads the objects of files that others share with it: as long as it sees
    /// a row of theirs that has the key. A signed URL that it has got before lives on until it expires.
    ///
    /// - Parameter sync: whose accounts the callers are, as `SyncService.account(ofToken:)` names them.
    public static func sharedFiles(_ sync: SyncService) -> SigningAccess {
        .claimedNamespaces(lending: { question in
            guard question.verb == .read, let key = question.key else { return nil }
            return try await sync.owner(ofObject: key, readableBy: question.caller)
        })
    }
}
