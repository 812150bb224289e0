import Foundation
import LFSHTTPStorage
import LFSStorage

/// The authentication of one request. Its descriptions never show a secret.
struct AzureLogin: ExpiringCredentials, Equatable {
    enum Kind: Equatable {
        /// The account's key, in base64.
        case key(String)
        /// A shared access signature in the form of a URL's query.
        case signature(String)
        case token(String)
    }

    let kind: Kind
    var expiration: Date?

    var description: String {
        switch kind {
        case .key: "the account's key"
        case .signature: "a shared access signature"
        case .token: "a token"
        }
    }

    /// The texts that messages must not show.
    var secrets: [String] {
        switch kind {
        case .key(let text), .token(let text): [text]
        case .signature(let query):
            [query]
                + query.split(separator: "&").filter { $0.hasPrefix("sig=") }.flatMap { field in
                    [String(field.dropFirst(4)), field.dropFirst(4).removingPercentEncoding ?? ""]
                }
        }
    }

    /// - Parameter text: the signature, with or without a leading question mark.
    /// - Throws: ``StorageError/Code/unauthorized`` for text that is not a signature.
    static func signature(_ text: String) throws(StorageError) -> AzureLogin {
        let query = text.hasPrefix("?") ? String(text.dropFirst()) : text
        let names = query.split(separator: "&").map { $0.prefix { $0 != "=" } }
        guard query.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F && $0 != UInt8(ascii: "#") }),
            names.contains("sig"), names.contains("sv")
        else {
            throw StorageError(
                .unauthorized,
                message: "The shared access signature is invalid: it must be the query of a URL, with sv=… and sig=….")
        }
        let end = query.split(separator: "&").first { $0.hasPrefix("se=") }?.dropFirst(3)
        let time = end.flatMap { $0.removingPercentEncoding }.flatMap(UTCTime.init(iso8601:))
        return AzureLogin(kind: .signature(query), expiration: time?.date)
    }

    static func token(_ text: String, expiration: Date?) throws(StorageError) -> AzureLogin {
        guard !text.isEmpty, text.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }) else {
            throw StorageError(
                .unauthorized, message: "The token is empty, or has blanks or other invalid characters.")
        }
        return AzureLogin(kind: .token(text), expiration: expiration)
    }
}

/// The account and the token source that credentials may need.
struct LoginContext: Sendable {
    let account: String
    let tokens: TokenSource
}
