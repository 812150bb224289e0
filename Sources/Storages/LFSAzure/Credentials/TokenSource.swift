import Foundation
import LFSHTTP
import LFSHTTPStorage
import LFSStorage
import LFSSystem

/// A client for access tokens. It asks Microsoft's identity platform ("OAuth 2.0 client credentials flow"), or the
/// machine's identity service ("How to use managed identities on an Azure VM to acquire an access token").
struct TokenSource: Sendable {
    let transport: any HTTPTransport
    /// The transport for the machine's identity service. It must not use a proxy.
    let identityTransport: any HTTPTransport
    /// True if the storage itself may be reached without encryption.
    let allowsPlainHTTP: Bool

    private static let resource = "https://storage.azure.com"
    private static let publicAuthority = Result { () throws(StorageError) in
        try Endpoint(URL(string: "https://login.microsoftonline.com") ?? URL(fileURLWithPath: "/"))
    }

    /// - Parameters:
    ///   - authority: the URL of the identity platform. nil uses Azure's public cloud.
    ///   - proof: the form fields that authenticate the client.
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
                message: "\(endpoint.origin) is not encrypted. Use https for the authority, or set allowsPlainHTTP.")
        }
        var request = HTTPRequest(
            .post, origin: endpoint.origin,
            target: "\(endpoint.path)/\(PercentEncoding.query(tenant))/oauth2/v2.0/token")
        try request.headers.set("content-type", value: "application/x-www-form-urlencoded")
        request.body = .bytes(Array(Self.encoded(form).utf8))
        return try await send(request, transport: transport, hiding: proof.map(\.value))
    }

    /// - Parameters:
    ///   - service: the URL of the identity service. nil uses the address of Azure's virtual machines.
    ///   - secret: the value of the header that services at other addresses require.
    ///   - client: the ID of one identity, if the machine has several.
    func managedToken(service: URL?, secret: String?, client: String?) async throws -> AzureLogin {
        guard let url = service ?? URL(string: "http://169.254.169.254/metadata/identity/oauth2/token") else {
            throw StorageError(.invalidRequest, message: "The identity service has no URL.")
        }
        let endpoint = try Endpoint(url)
        guard endpoint.origin.isSecure || Self.isOnThisMachine(endpoint.origin) else {
            throw StorageError(
                .invalidRequest,
                message: "\(endpoint.origin) is not encrypted and not on this machine, so no request is sent to it.")
        }
        var query = [("api-version", secret == nil ? "2018-02-01" : "2019-08-01"), ("resource", Self.resource)]
        if let client { query.append(("client_id", client)) }
        var request = HTTPRequest(.get, origin: endpoint.origin, target: "\(endpoint.path)?\(Self.encoded(query))")
        try request.headers.set("metadata", value: "true")
        if let secret { try request.headers.set("x-identity-header", value: secret) }
        return try await send(request, transport: identityTransport, hiding: secret.map { [$0] } ?? [])
    }

    /// Returns true for link-local and loopback addresses. Requests to them do not leave the machine.
    private static func isOnThisMachine(_ origin: HTTPOrigin) -> Bool {
        origin.isOnThisMachine
            || origin.host.hasPrefix("169.254.")
                && origin.host.utf8.allSatisfy { $0 == UInt8(ascii: ".") || (0x30...0x39).contains($0) }
    }

    private static func encoded(_ fields: [(name: String, value: String)]) -> String {
        fields.map { "\($0.name)=\(PercentEncoding.query($0.value))" }.joined(separator: "&")
    }

    private func send(
        _ request: HTTPRequest, transport: any HTTPTransport, hiding secrets: [String]
    ) async throws -> AzureLogin {
        let asked = Date()
        let response: HTTPResponse
        do {
            response = try await transport.send(request)
        } catch let error as HTTPError {
            let reason = StorageError(error)
            throw StorageError(reason.code, message: "No token: \(reason.message)", cause: error)
        }
        guard response.status == 200 else { throw Self.failure(response, origin: request.origin, secrets: secrets) }
        guard let reply = Self.decode(TokenReply.self, response.body) else {
            throw StorageError(
                .unreachable,
                message: "The reply of \(request.origin) is not a token. Check for a proxy in front of it.")
        }
        return try .token(
            reply.accessToken, expiration: reply.lifetime.map { asked.addingTimeInterval(Double(min($0, 86_400 * 7))) })
    }

    private static func failure(_ response: HTTPResponse, origin: HTTPOrigin, secrets: [String]) -> StorageError {
        var message = "\(origin) returned no token: it answered \(response.status)"
        guard let reply = decode(TokenRefusal.self, response.body) else {
            return StorageError(
                ErrorClassification(foreign: response).code, message: message + ".",
                retryAfter: RetryAfter.parse(response.headers, now: Date()))
        }
        message += " \(SanitizedErrorText.explanation(reply.error, hiding: secrets))"
        if let text = reply.explanation { message += ": \(SanitizedErrorText.explanation(text, hiding: secrets))" }
        let code: StorageError.Code =
            switch response.status {
            case 400..<429: .unauthorized
            case 429: .throttled
            default: .serverError
            }
        return StorageError(code, message: message, retryAfter: RetryAfter.parse(response.headers, now: Date()))
    }

    /// Returns nil for a body that is something else.
    private static func decode<Value: Decodable>(_ type: Value.Type, _ body: [UInt8]) -> Value? {
        do { return try JSONDecoder().decode(type, from: Data(body)) } catch { return nil }
    }
}

/// A token reply (RFC 6749, section 5.1). Managed identities write the number as text.
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
        // An invalid lifetime is ignored. The server refuses an expired token, and the client then asks for a new one.
        let number = try? fields.decode(Int.self, forKey: .lifetime)
        let text = try? fields.decode(String.self, forKey: .lifetime)
        lifetime = (number ?? text.flatMap { Int($0) }).flatMap { $0 > 0 ? $0 : nil }
    }
}

/// An error reply (RFC 6749, section 5.2).
private struct TokenRefusal: Decodable {
    let error: String
    let explanation: String?

    private enum CodingKeys: String, CodingKey {
        case error
        case explanation = "error_description"
    }
}
