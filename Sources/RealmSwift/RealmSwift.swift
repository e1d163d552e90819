@_exported import Motte
