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
    /// A call of the function, as gateways pass an HTTP request. Names of fields are in lowercase.
    struct FunctionCall: Decodable {
        var method: String
        var headers: [String: String]
        var body: String?
        var isBase64Encoded: Bool?
    }

    struct FunctionReply: Encodable {
        var statusCode: Int
        var headers: [String: String]
        var body: String
    }

    /// Answers a call. The closure returns the user of a token, or nil for an unknown token.
    func handle(
        _ call: FunctionCall, service: SigningService, user: (String) async throws -> String?
    ) async throws -> FunctionReply {
        let words = (call.headers["authorization"] ?? "").split(separator: " ").map(String.init)
        let isBearer = words.count == 2 && words[0].lowercased() == "bearer"
        let text = call.body ?? ""
        let body = call.isBase64Encoded == true ? Data(base64Encoded: text) ?? Data() : Data(text.utf8)
        let reply =
            switch (call.method, isBearer ? try await user(words[1]) : nil) {
            case (_, nil): SigningReply.unauthorized
            case ("GET", _?): service.description()
            case ("POST", let user?): await service.answer(body, caller: user)
            default: SigningReply.unknownRequest(status: 405)
            }
        return FunctionReply(
            statusCode: reply.status, headers: reply.headers, body: String(decoding: reply.body, as: UTF8.self))
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
