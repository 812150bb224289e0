public import Foundation
import LFSWire

/// Whom devices may share something with.
extension SyncService {
    /// Answers `POST …/v1/sync/account` with the id of the account of a name: `{"id":"…"}`, or `{"id":null}` for none.
    ///
    /// 403 unless ``SyncServiceOptions/namesAccounts`` is set.
    public func account(_ body: Data, token: String?) async -> SyncReply {
        await answering(token) { [self] _ in
            guard options.namesAccounts else {
                throw WireFailure(
                    .forbidden,
                    "This server does not say which accounts there are. Who runs it may allow that to its devices.")
            }
            let name = try WireFormat.decode(SyncAccountRequest.self, from: body, .sync).name
            return .object(try Array(WireFormat.encode(SyncAccountReply(id: try await account(named: name)))))
        }
    }
}
