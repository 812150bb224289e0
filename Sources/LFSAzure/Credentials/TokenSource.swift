import Foundation
import LFSHTTP
import LFSHTTPStorage
import LFSStorage
import LFSSystem

/// Asks Microsoft's identity platform for tokens ("OAuth 2.0 client credentials flow"), and the machine's own service
/// for those of a managed identity ("How to use managed identities on an Azure VM to acquire an access token").
struct TokenSource: Sendable {
    let transport: any HTTPTransport
    /// For the service that gives a machine its identity: no proxy may stand between the two.
    let identityTransport: any HTTPTransport
    /// Whether the storage itself is reached without encryption.
    let allowsPlainHTTP: Bool

    private static let resource = "https://storage.azure.com"
    private static let publicAuthority = Result { () throws(StorageError) in
        try Endpoint(URL(string: "https://login.microsoftonline.com") ?? URL(fileURLWithPath: "/"))
    }

    /// - Parameters:
    ///   - authority: nil for Azure's public cloud.
    ///   - proof: what shows that it is the client that asks.
    func token(
        authority: URL?, tenant: String, client: String, proof: [(name: String, value: String)]
    ) async throws -> AzureLogin {
        let form: [(name: String, value: String)] =
            [
                ("grant_type", "client_credentials"), ("client_id", client),
                ("scope", Self.resource + "/.default"),
            ] + proof
        let endpoint = if let authority { try Endpoint(authority) } else { try Self.publicAuthority.get() }
        guard endpoint.origin.isPermitted(allowsPlainHTTP: allowsPlainHTTP) else {
            throw StorageError(
                .invalidRequest,
                "\(endpoint.origin) is not encrypted. Use https for the authority, or set allowsPlainHTTP.")
        }
        var request = HTTPRequest(
            .post, endpoint.origin, "\(endpoint.path)/\(PercentEncoding.query(tenant))/oauth2/v2.0/token")
        try request.headers.set("content-type", "application/x-www-form-urlencoded")
        request.body = .bytes(Array(Self.encoded(form).utf8))
        return try await send(request, transport, hiding: proof.map(\.value))
    }

    /// - Parameters:
    ///   - service: nil for the address that Azure's virtual machines have.
    ///   - secret: what the service wants to see, where it is not on that address.
    ///   - client: which identity, where the machine has several.
    func managedToken(service: URL?, secret: String?, client: String?) async throws -> AzureLogin {
        guard let url = service ?? URL(string: "http://169.254.169.254/metadata/identity/oauth2/token") else {
            throw StorageError(.invalidRequest, "The identity service has no URL.")
        }
        let endpoint = try Endpoint(url)
        guard endpoint.origin.isSecure || Self.isOnThisMachine(endpoint.origin) else {
            throw StorageError(
                .invalidRequest, "\(endpoint.origin) is not encrypted and not on this machine: it gets no request.")
        }
        var query = [("api-version", secret == nil ? "2018-02-01" : "2019-08-01"), ("resource", Self.resource)]
        if let client { query.append(("client_id", client)) }
        var request = HTTPRequest(.get, endpoint.origin, "\(endpoint.path)?\(Self.encoded(query))")
        try request.headers.set("metadata", "true")
        if let secret { try request.headers.set("x-identity-header", secret) }
        return try await send(request, identityTransport, hiding: secret.map { [$0] } ?? [])
    }

    /// Link-local and loopback addresses: what is sent there leaves no machine.
    private static func isOnThisMachine(_ origin: HTTPOrigin) -> Bool {
        origin.isOnThisMachine
            || origin.host.hasPrefix("169.254.")
                && origin.host.utf8.allSatisfy { $0 == UInt8(ascii: ".") || (0x30...0x39).contains($0) }
    }

    private static func encoded(_ fields: [(name: String, value: String)]) -> String {
        fields.map { "\($0.name)=\(PercentEncoding.query($0.value))" }.joined(separator: "&")
    }

    private func send(
        _ request: HTTPRequest, _ transport: any HTTPTransport, hiding secrets: [String]
    ) async throws -> AzureLogin {
        let asked = Date()
        let response: HTTPResponse
        do {
            response = try await transport.send(request)
        } catch let error as HTTPError {
            let reason = StorageError(error)
            throw StorageError(reason.code, "No token: \(reason.message)", cause: error)
        }
        guard response.status == 200 else { throw Self.failure(response, request.origin, secrets) }
        guard let reply = Self.decode(TokenReply.self, response.body) else {
            throw StorageError(.unreachable, "What \(request.origin) answered is no token: look what stands before it.")
        }
        return try .token(
            reply.accessToken, expiration: reply.lifetime.map { asked.addingTimeInterval(Double(min($0, 86_400 * 7))) })
    }

    private static func failure(_ response: HTTPResponse, _ origin: HTTPOrigin, _ secrets: [String]) -> StorageError {
        var message = "\(origin) gave no token: it answered \(response.status)"
        guard let reply = decode(TokenRefusal.self, response.body) else {
            return StorageError(
                FailureMeaning(foreign: response).code, message + ".",
                retryAfter: RetryAfter.parse(response.headers, now: Date()))
        }
        message += " \(ServerText.explanation(reply.error, hiding: secrets))"
        if let text = reply.explanation { message += ": \(ServerText.explanation(text, hiding: secrets))" }
        let code: StorageError.Code =
            switch response.status {
            case 400..<429: .unauthorized
            case 429: .throttled
            default: .serverError
            }
        return StorageError(code, message, retryAfter: RetryAfter.parse(response.headers, now: Date()))
    }

    /// nil for a body that is something else.
    private static func decode<Value: Decodable>(_ type: Value.Type, _ body: [UInt8]) -> Value? {
        do { return try JSONDecoder().decode(type, from: Data(body)) } catch { return nil }
    }
}

/// RFC 6749, 5.1. Managed identities write the number as text.
private struct TokenReply: Decodable {
    let accessToken: String
    let lifetime: Int?

    private enum Keys: String, CodingKey {
        case token = "access_token"
        case lifetime = "expires_in"
    }

    init(from decoder: any Decoder) throws {
        let fields = try decoder.container(keyedBy: Keys.self)
        accessToken = try fields.decode(String.self, forKey: .token)
        // What makes no sense is as good as nothing: a token that has ended is refused and asked for again.
        let number = try? fields.decode(Int.self, forKey: .lifetime)
        let text = try? fields.decode(String.self, forKey: .lifetime)
        lifetime = (number ?? text.flatMap { Int($0) }).flatMap { $0 > 0 ? $0 : nil }
    }
}

/// RFC 6749, 5.2.
private struct TokenRefusal: Decodable {
    let error: String
    let explanation: String?

    private enum CodingKeys: String, CodingKey {
        case error
        case explanation = "error_description"
    }
}
