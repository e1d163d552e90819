/// What to open and how, for the floors that do not know pages.
import MottePages

package typealias DatabaseOptions = PageStoreOptions
