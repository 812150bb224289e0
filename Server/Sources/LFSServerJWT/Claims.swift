import Foundation
import JWTKit

/// The unverified claims of a token. They have no effect before they are compared with the options.
struct Claims: JWTPayload {
    let issuer: String?
    let audiences: [String]
    let expiresAt: Double?
    let notBefore: Double?
    /// The claims with string values, by their names.
    let texts: [String: String]

    private struct Key: CodingKey {
        let stringValue: String
        let intValue: Int? = nil
        init(stringValue: String) { self.stringValue = stringValue }
        init?(intValue: Int) { nil }
    }

    init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: Key.self)
        var texts: [String: String] = [:]
        for key in container.allKeys { texts[key.stringValue] = try? container.decode(String.self, forKey: key) }
        self.texts = texts
        issuer = texts["iss"]
        let audience = Key(stringValue: "aud")
        audiences =
            try texts["aud"].map { [$0] } ?? container.decodeIfPresent([String].self, forKey: audience) ?? []
        expiresAt = try container.decodeIfPresent(Double.self, forKey: Key(stringValue: "exp"))
        notBefore = try container.decodeIfPresent(Double.self, forKey: Key(stringValue: "nbf"))
    }

    func encode(to encoder: any Encoder) throws {
        throw EncodingError.invalidValue(self, .init(codingPath: [], debugDescription: "Claims can only be read."))
    }

    /// Does nothing, because ``account(_:)`` compares all claims.
    func verify(using algorithm: some JWTAlgorithm) async throws {}

    /// Returns the account of the token, or nil if the claims are not valid now for these options.
    func account(_ options: JWTAuthenticationOptions) -> String? {
        let now = options.now().timeIntervalSince1970
        guard issuer == options.issuer, audiences.contains(options.audience),
            let expiresAt, now < expiresAt + options.leeway, notBefore.map({ now >= $0 - options.leeway }) ?? true,
            let name = texts[options.accountClaim], (1...128).contains(name.utf8.count),
            name.unicodeScalars.allSatisfy({ $0 != " " && $0.properties.generalCategory != .control })
        else { return nil }
        return name
    }
}
