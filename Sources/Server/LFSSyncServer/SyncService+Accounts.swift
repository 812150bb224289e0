public import Foundation
import LFSWire

/// Queries for accounts that a device may share rows with.
extension SyncService {
    /// Answers `POST …/v1/sync/account` with the id of the account with a name: `{"id":"…"}`, or `{"id":null}` if no
    /// account has it.
    ///
    /// The reply is 403 unless ``SyncServiceOptions/namesAccounts`` is set.
    public func account(_ body: Data, token: String?) async -> SyncReply {
        await answering(token) { [self] _ in
            guard options.namesAccounts else {
                throw WireFailure(
                    .forbidden,
                    message:
                        "This server does not reveal which accounts exist. Its operator may allow that.")
            }
            let name = try WireFormat.decode(SyncAccountRequest.self, from: body, limits: .sync).name
            return .object(try Array(WireFormat.encode(SyncAccountReply(id: try await account(named: name)))))
        }
    }
}
