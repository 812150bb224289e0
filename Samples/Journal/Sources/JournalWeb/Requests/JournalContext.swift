import Foundation
import Hummingbird
import JournalStorage

/// What goes with a request from the guard to its route.
struct JournalContext: RequestContext {
    var coreContext: CoreRequestContextStorage
    /// The browser that asks. Set before any route runs.
    var session = Session(id: "", isLoggedIn: false, expires: 0)

    init(source: ApplicationRequestContextSource) { coreContext = CoreRequestContextStorage(source: source) }

    /// A part of the path that has to be an id in lowercase.
    ///
    /// - Throws: ``WebError/Code/notFound``.
    func id(_ name: String = "id") throws(WebError) -> UUID {
        guard let text = parameters.get(name), let id = UUID(text: text) else { throw WebError.noSuchPage }
        return id
    }
}
