import Foundation
import LFSS3
import LFSSigningServer

struct Signing {
    // snippet
    func makeService(secret: Data) throws -> SigningService {
        let bucket = try S3Storage(bucket: "photos", prefix: "app", region: "eu-west-1")
        return try SigningService(backend: .s3(bucket), access: .claimedNamespaces, secret: SigningSecret(secret))
    }
    // end

    // snippet
    /// Placeholders for the host's own types.
    struct Incoming { var method: String, user: String?, body: Data }
    struct Outgoing { var status: Int, headers: [String: String], body: Data }

    func handle(_ request: Incoming, service: SigningService) async -> Outgoing {
        let reply: SigningReply
        switch (request.method, request.user) {
        case (_, nil): reply = .unauthorized
        case ("GET", _?): reply = service.description()
        case ("POST", let user?): reply = await service.answer(request.body, caller: user)
        default: reply = .unknownRequest(status: 405)
        }
        return Outgoing(status: reply.status, headers: reply.headers, body: reply.body)
    }
    // end

    // snippet
    typealias Sharing = @Sendable (_ key: String, _ user: String) async throws -> Bool

    func access(_ isShared: @escaping Sharing) -> SigningAccess {
        .claimedNamespaces(sharing: { question in
            guard question.verb == .read, let key = question.key else { return false }
            return try await isShared(key, question.caller)
        })
    }
    // end
}
