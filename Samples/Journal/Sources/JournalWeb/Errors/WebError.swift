public import Foundation
import HTTPTypes

/// Why the server does not start, or does not do what a request asks for. Each has a sentence for people.
public struct WebError: LocalizedError, Hashable, Sendable, CustomStringConvertible {
    /// The kind of failure.
    public enum Code: String, Hashable, Sendable {
        /// The options contradict each other, or would let anybody in.
        case unsafeOptions
        /// A file that an option names cannot be used.
        case unusableFile
        /// The request names another server than this one.
        case wrongHost
        /// Another site's page has sent the request.
        case foreignOrigin
        /// The form was not made by this server for this browser.
        case foreignForm
        /// Nobody has logged in with this browser.
        case notLoggedIn
        /// The password is another one.
        case wrongPassword
        /// Too many passwords were tried.
        case tooManyTries
        /// There is no such page, record or picture.
        case notFound
        /// Nothing is done this way.
        case wrongMethod
        /// Something of the request is missing or makes no sense.
        case badRequest
        /// The body is larger than what is taken.
        case tooLarge
        /// The sync server does not answer, or not as it should.
        case noServer
        /// The body is no form, or no picture of a known kind.
        case wrongType
    }

    /// What kind of failure it is.
    public let code: Code
    /// What happened, and what to do about it.
    public let message: String

    /// A failure and its sentence.
    public init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }

    /// The sentence.
    public var description: String { message }

    /// The same as ``description``, for alerts.
    public var errorDescription: String? { description }

    /// What a reply says of it.
    var status: HTTPResponse.Status {
        switch code {
        case .unsafeOptions, .unusableFile: .internalServerError
        case .wrongHost: .misdirectedRequest
        case .foreignOrigin, .foreignForm: .forbidden
        case .notLoggedIn, .wrongPassword: .unauthorized
        case .tooManyTries: .tooManyRequests
        case .notFound: .notFound
        case .wrongMethod: .methodNotAllowed
        case .badRequest: .badRequest
        case .noServer: .badGateway
        case .tooLarge: .contentTooLarge
        case .wrongType: .unsupportedMediaType
        }
    }
}

extension WebError {
    static let noSuchPage = WebError(.notFound, "There is nothing here. It may have been deleted meanwhile.")
}
